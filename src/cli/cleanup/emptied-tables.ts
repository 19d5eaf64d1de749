/**
 * iptables-nft makes a table, and in it the chains that the kernel calls, when the first rule needs them, and never takes
 * them away. Those that hold nothing but what the clean-up removes go too.
 */
import { nothingFound, removalOf } from '../../core/leftover.ts'
import type { Findings, Removal } from '../../core/leftover.ts'
import { cleanupTables, kernelChains } from '../../dataplane/iptables/cleanup/cleanup-plan.ts'
import type { IptablesCleanup } from '../../dataplane/iptables/cleanup/cleanup-plan.ts'
import type { IptablesLook } from '../../dataplane/iptables/cleanup/look-into-iptables.ts'
import type { FindOwnChain } from '../../dataplane/iptables/cleanup/own-chain.ts'
import { IptablesError } from '../../dataplane/iptables/iptables.ts'
import type { Iptables, Table } from '../../dataplane/iptables/iptables.ts'
import type { TableName } from '../../dataplane/nft/netlink/list-tables.ts'
import type { ChainShape, NftRuleset, TableShape } from '../../dataplane/nft/nft-ruleset.ts'
import { nftFamily } from '../../dataplane/nft/command/script.ts'

interface Node {
  readonly nft: NftRuleset
  readonly looks: readonly IptablesLook[]
  readonly findOwnChain: FindOwnChain
}

export async function findEmptiedTables({ nft, looks, findOwnChain }: Node, signal: AbortSignal): Promise<Findings> {
  const { tables, canChange } = await nft.list(signal)
  if (!canChange) return nothingFound
  const removals: Removal[] = []
  const problems: string[] = []
  for (const table of tables.filter(isOfIptables)) {
    const look = looks.find(({ variant, family }) => variant === 'nf_tables' && family === table.family)
    if (look === undefined) continue
    const isReadable = look.tool !== undefined && !look.unreadableTables.includes(table.name)
    if (!isReadable) {
      const why = look.tool === undefined ? noTool : notOnlyIptables
      problems.push(...unreadableProblem(table, await nft.shape(table, signal), why, findOwnChain))
    } else if (hasLeftovers(look.cleanup))
      removals.push(...emptied(nft, look, table, await nft.shape(table, signal), findOwnChain))
  }
  return { removals, problems }
}

const noTool = 'iptables-nft, which removes them, is missing: install it'
const notOnlyIptables =
  'the table also has rules that iptables-nft cannot read: move those to a table of their own, then clean up again'

/** A table that iptables-nft uses. */
interface IptablesTable extends TableName {
  readonly name: Table
}

function isOfIptables(table: TableName): table is IptablesTable {
  return cleanupTables.some((name) => name === table.name)
}

/** Empty tables are no proof of a proxy: where nothing else of one was found they may be anybody's. */
function hasLeftovers({ jumps, chains }: IptablesCleanup): boolean {
  return jumps.length > 0 || chains.length > 0
}

/** Chains of a proxy in a table that iptables cannot read, or is not there to read. */
function unreadableProblem(
  table: IptablesTable,
  { chainsByName }: TableShape,
  why: string,
  findOwnChain: FindOwnChain,
): readonly string[] {
  const ours = [...chainsByName.keys()].filter((chain) => findOwnChain(table.name, chain) !== undefined)
  if (ours.length === 0) return []
  const some = ours.slice(0, 3).join(', ')
  return [`nf_tables: table ${nameOf(table)} holds chains of a proxy (${some}), but ${why}`]
}

function emptied(
  nft: NftRuleset,
  { iptables, cleanup }: IptablesLook,
  table: IptablesTable,
  shape: TableShape,
  findOwnChain: FindOwnChain,
): readonly Removal[] {
  const jumpCounts = new Map<string, number>()
  for (const jump of cleanup.jumps)
    if (jump.table === table.name) jumpCounts.set(jump.chain, (jumpCounts.get(jump.chain) ?? 0) + 1)
  const goingChains = new Set(
    cleanup.chains.filter((chain) => chain.table === table.name && chain.heldBy.length === 0).map(({ chain }) => chain),
  )
  const isEmptied = ([chain, { hook, ruleCount }]: readonly [string, ChainShape]) =>
    isIptablesHook(chain, hook) && ruleCount === (jumpCounts.get(chain) ?? 0)

  const others = [...shape.chainsByName].filter(([chain]) => !goingChains.has(chain))
  const isTableEmpty = !shape.hasOtherObjects && others.every(isEmptied)
  // In a table that stays, only a jump of ours tells that a chain was made for it.
  const chains = isTableEmpty ? others : others.filter((chain) => jumpCounts.has(chain[0]) && isEmptied(chain))
  const why = {
    reason: 'made by iptables-nft; empty after the clean-up',
    modes: ['iptables', 'ipvs', 'userspace'],
    carriesOpen: [...goingChains].some((chain) => findOwnChain(table.name, chain)?.carriesOpen === true),
  }
  return [
    ...chains.map(([chain]) =>
      removalOf({ what: `nft ${nameOf(table)}: chain ${chain}`, ...why }, (signal) =>
        removeEmptyChain(nft, iptables, table, chain, signal),
      ),
    ),
    ...(isTableEmpty
      ? [removalOf({ what: `nft: table ${nameOf(table)}`, ...why }, (signal) => removeEmptyTable(nft, table, signal))]
      : []),
  ]
}

/** With another policy, or at another hook, an empty chain still does something, or is somebody's. */
function isIptablesHook(chain: string, hook: ChainShape['hook']): boolean {
  return kernelChains.has(chain) && hook?.name === chain.toLowerCase() && hook.policy === 'accept'
}

/** nft takes along what is in a chain, and rules may have come since the look; iptables refuses to. */
async function removeEmptyChain(
  nft: NftRuleset,
  iptables: Iptables,
  table: IptablesTable,
  chain: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await iptables.deleteChain(table.name, chain, signal)
  } catch (error) {
    if (!(error instanceof IptablesError)) throw error
    const { chainsByName } = await nft.shape(table, signal)
    if (chainsByName.get(chain)?.ruleCount !== 0)
      throw new Error(`nft ${nameOf(table)}: chain ${chain} stays, because another program uses it now`, {
        cause: error,
      })
    // Older versions of iptables do not let go of the kernel's chains.
    await nft.deleteChain(table, chain, signal)
  }
}

/** A table goes with all that is in it, so this looks again, immediately before. */
async function removeEmptyTable(nft: NftRuleset, table: IptablesTable, signal: AbortSignal): Promise<void> {
  const { chainsByName, hasOtherObjects } = await nft.shape(table, signal)
  if (hasOtherObjects || chainsByName.size > 0)
    throw new Error(`nft: table ${nameOf(table)} stays, because another program uses it now`)
  await nft.deleteTable(table, signal)
}

function nameOf({ family, name }: TableName): string {
  return `${nftFamily(family)} ${name}`
}
