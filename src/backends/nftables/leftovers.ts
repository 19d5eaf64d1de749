/** What the nftables mode leaves: its table in each family. That of kube-proxy's mode of this name goes too. */
import { nothingFound, removalOf } from '../../core/leftover.ts'
import type { Findings } from '../../core/leftover.ts'
import type { NftRuleset } from '../../dataplane/nft/nft-ruleset.ts'
import { tableName } from '../../dataplane/nft/nft.ts'
import { nftFamily } from '../../dataplane/nft/command/script.ts'

/** Nobody else uses tables of these names. */
const ownTables: ReadonlyMap<string, { readonly reason: string; readonly modes: readonly string[] }> = new Map([
  ['kube-proxy', { reason: 'all that the nftables mode of kube-proxy makes', modes: [] }],
  [tableName, { reason: 'all that the nftables mode of Fairlead makes', modes: ['nftables', 'ebpf'] }],
])

interface Place {
  readonly nft: NftRuleset
}

export function findLeftovers({ nft }: Place, signal: AbortSignal): Promise<Findings> {
  return findTables(nft, [...ownTables.keys()], signal)
}

/** What no kube-proxy makes or uses: it can go while one runs. */
export function findOwnTables({ nft }: Place, signal: AbortSignal): Promise<Findings> {
  return findTables(nft, [tableName], signal)
}

async function findTables(nft: NftRuleset, names: readonly string[], signal: AbortSignal): Promise<Findings> {
  const { tables, canChange } = await nft.list(signal)
  const found = tables.flatMap((table) => {
    const own = names.includes(table.name) ? ownTables.get(table.name) : undefined
    return own === undefined ? [] : [{ table, own, name: `table ${nftFamily(table.family)} ${table.name}` }]
  })
  if (!canChange)
    return {
      ...nothingFound,
      problems: found.map(({ name }) => `nf_tables: ${name} exists, but nft, which removes it, is missing: install it`),
    }
  return {
    ...nothingFound,
    removals: found.map(({ table, own, name }) =>
      removalOf({ what: `nft: ${name}`, ...own }, (removing) => nft.deleteTable(table, removing)),
    ),
  }
}
