/** Reads both variants of iptables for both families, and plans what to remove. */
import { IptablesError } from '../iptables.ts'
import type { Iptables } from '../iptables.ts'
import { noTables, SaveReader } from '../save-reader.ts'
import type { SavedTables } from '../save-reader.ts'
import { planCleanup } from './cleanup-plan.ts'
import type { IptablesCleanup } from './cleanup-plan.ts'
import type { HostIptables } from './host-iptables.ts'
import type { FindOwnChain } from './own-chain.ts'

export interface IptablesLook extends HostIptables {
  readonly cleanup: IptablesCleanup
  /** Tables with rules that only nft can print, so that iptables-nft does not show them. */
  readonly unreadableTables: readonly string[]
}

export function lookIntoIptables(
  host: readonly HostIptables[],
  findOwn: FindOwnChain,
  signal: AbortSignal,
): Promise<readonly IptablesLook[]> {
  return Promise.all(
    host.map(async (found) => {
      const saved = found.tool === undefined ? noTables : await readTables(found.iptables, findOwn, signal)
      return {
        ...found,
        cleanup: planCleanup(saved, found.family, findOwn),
        unreadableTables: saved.remarks.flatMap((remark) => /^# Table `(\w+)' is incompatible/.exec(remark)?.[1] ?? []),
      }
    }),
  )
}

/**
 * Reads all tables at once. Naming a table, as `Iptables.save` does, would make the legacy variant load it into a kernel
 * that may never have used it.
 */
export async function readTables(
  iptables: Pick<Iptables, 'readAll'>,
  findOwn: FindOwnChain,
  signal: AbortSignal,
): Promise<SavedTables> {
  const reader = new SaveReader({ isSummaryEnough: (table, chain) => findOwn(table, chain) !== undefined })
  try {
    await iptables.readAll((piece) => reader.add(piece), signal)
  } catch (error) {
    // A kernel without this family or variant has no rules of it.
    if (error instanceof IptablesError && error.reason === 'unsupported') return noTables
    throw error
  }
  return reader.end()
}
