/** Reads every iptables of the host. */
import { planCleanup } from '../../dataplane/iptables/cleanup/cleanup-plan.ts'
import type { IptablesCleanup } from '../../dataplane/iptables/cleanup/cleanup-plan.ts'
import { noTables } from '../../dataplane/iptables/save-reader.ts'
import type { CleanupHost } from './cleanup-host.ts'
import { readTables } from './host-iptables.ts'
import type { HostIptables } from './host-iptables.ts'

export interface IptablesLook extends HostIptables {
  readonly cleanup: IptablesCleanup
  /** Tables in which others use what only nft understands: iptables-nft does not show them. */
  readonly unreadableTables: readonly string[]
}

export function lookIntoIptables(host: CleanupHost, signal: AbortSignal): Promise<readonly IptablesLook[]> {
  return Promise.all(
    host.iptables.map(async (found) => {
      const saved = found.tool === undefined ? noTables : await readTables(host.exec, found.tool, signal)
      return {
        ...found,
        cleanup: planCleanup(saved, found.family),
        unreadableTables: saved.remarks.flatMap((remark) => /^# Table `(\w+)' is incompatible/.exec(remark)?.[1] ?? []),
      }
    }),
  )
}

const tableFiles = { ipv4: '/proc/net/ip_tables_names', ipv6: '/proc/net/ip6_tables_names' } as const

/** The kernel tells which legacy tables are in use, but not what is in them. */
export async function missingLegacyProblem(look: IptablesLook, host: CleanupHost): Promise<string | undefined> {
  if (look.variant !== 'legacy' || look.tool !== undefined) return undefined
  const tables = (await host.readText(tableFiles[look.family])).split('\n').filter((name) => name !== '')
  if (tables.length === 0) return undefined
  const tool = look.family === 'ipv4' ? 'iptables-legacy' : 'ip6tables-legacy'
  return `the kernel has legacy iptables tables (${tables.join(', ')}) that cannot be looked at: install ${tool}`
}
