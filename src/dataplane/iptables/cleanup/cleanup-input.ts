import type { Table } from '../iptables.ts'

export interface TableRemoval {
  readonly table: Table
  /** As printed by iptables-save. */
  readonly jumps: readonly { readonly chain: string; readonly rule: string }[]
  readonly chains: readonly { readonly chain: string; readonly isEmptiedOnly: boolean }[]
}

/**
 * The input of `iptables-restore --noflush` that removes all of it, or nothing if one part cannot be removed. The chains
 * are emptied first (a declaration does that), because they refer to each other.
 */
export function cleanupInput({ table, jumps, chains }: TableRemoval): string {
  return [
    `*${table}`,
    ...chains.map(({ chain }) => `:${chain} - [0:0]`),
    ...jumps.map(({ chain, rule }) => `-D ${chain} ${rule}`),
    ...chains.filter(({ isEmptiedOnly }) => !isEmptiedOnly).map(({ chain }) => `-X ${chain}`),
    'COMMIT',
    '',
  ].join('\n')
}
