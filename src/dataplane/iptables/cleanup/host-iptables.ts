/** Finds both variants of iptables for both families. A proxy uses one variant, but an earlier proxy may have used the other. */
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'
import type { Family } from '../../../net/ip.ts'
import { families } from '../../../net/ip.ts'
import type { Exec } from '../../exec/exec.ts'
import { findIptables } from '../find-iptables.ts'
import type { Iptables, Variant } from '../iptables.ts'
import { IptablesError } from '../iptables.ts'

export interface HostIptables {
  readonly family: Family
  readonly variant: Variant
  /** `iptables-nft`, `ip6tables-legacy`, or `iptables` if that is its only name. Not set if it cannot be used. */
  readonly tool: string | undefined
  readonly iptables: Iptables
  /** Tables that the kernel has, but that no installed tool can read. */
  readonly unseenTables: readonly string[]
}

export interface HostIptablesOptions {
  readonly exec: Exec
  readonly clock: Clock
  readonly log: Logger
  /** Returns an empty text if there is no such file. */
  readonly readText: (path: string) => Promise<string>
}

/** Includes those that are not installed. */
export function findHostIptables(options: HostIptablesOptions, signal: AbortSignal): Promise<readonly HostIptables[]> {
  const all = families.flatMap((family) => (['nf_tables', 'legacy'] as const).map((variant) => ({ family, variant })))
  return Promise.all(all.map(({ family, variant }) => findOne(family, variant, options, signal)))
}

const suffixes = { nf_tables: '-nft', legacy: '-legacy' } as const

async function findOne(
  family: Family,
  variant: Variant,
  options: HostIptablesOptions,
  signal: AbortSignal,
): Promise<HostIptables> {
  const plainName = family === 'ipv4' ? 'iptables' : 'ip6tables'
  const named = await findIptables({ ...options, family, variant, signal })
  if ((await variantOf(named, signal)) === variant)
    return { family, variant, tool: `${plainName}${suffixes[variant]}`, iptables: named, unseenTables: [] }
  // If there is no tool with the suffix, the plain one may be of this variant.
  const plain = await findIptables({ ...options, family, signal })
  if ((await variantOf(plain, signal)) === variant)
    return { family, variant, tool: plainName, iptables: plain, unseenTables: [] }
  const unseenTables = variant === 'legacy' ? await legacyTables(family, options.readText) : []
  return { family, variant, tool: undefined, iptables: plain, unseenTables }
}

async function variantOf(iptables: Iptables, signal: AbortSignal): Promise<Variant | undefined> {
  try {
    return (await iptables.features(signal)).variant
  } catch (error) {
    // On a kernel without nf_tables, iptables-nft cannot even print its version.
    const isUnusable = error instanceof IptablesError && ['tool-missing', 'unsupported'].includes(error.reason)
    if (isUnusable) return undefined
    throw error
  }
}

const tableFiles = { ipv4: '/proc/net/ip_tables_names', ipv6: '/proc/net/ip6_tables_names' } as const

/** The kernel tells which legacy tables are in use, but not what is in them. */
async function legacyTables(family: Family, readText: HostIptablesOptions['readText']): Promise<readonly string[]> {
  return (await readText(tableFiles[family])).split('\n').filter((name) => name !== '')
}
