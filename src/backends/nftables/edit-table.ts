/** The smallest change that leads from what the table holds to what some changed routes want. */
import type { Route, RouteKey } from '../../core/route.ts'
import { isSameData } from '../../core/same-data.ts'
import type { NftOperation } from '../../dataplane/nft/nft.ts'
import type { Family } from '../../net/ip.ts'
import { writeChain, writePickChains } from './chain-operations.ts'
import type { Transfer } from './claims.ts'
import type { Containers } from './containers.ts'
import { editElements } from './element-edits.ts'
import type { NodeWishes } from './node-plan.ts'
import { pickChainName } from './pick-chains.ts'
import type { Steps } from './steps.ts'
import type { StickyChains } from './sticky-chains.ts'
import type { Replacement, TablePlan } from './table-plan.ts'

export interface TableEdit {
  readonly steps: Steps
  /** Chains that nothing leads to after it. They are deleted later: see `unused-chains.ts`. */
  readonly unusedChains: readonly string[]
  /** Whose elements were which. */
  readonly transfers: readonly Transfer[]
}

/** Brings the plan to the new state, too. */
export function editTable(
  plan: TablePlan,
  routes: ReadonlyMap<RouteKey, Route | undefined>,
  node: NodeWishes,
  containers: Containers,
): TableEdit {
  const replacements: Replacement[] = []
  const pickChainsBefore = new Set(plan.pickChains.map(pickChainName))
  const transfers = plan.transfersDuring(() => {
    replacements.push(plan.replaceNode(node))
    for (const [key, route] of routes) replacements.push(plan.replaceRoute(key, route))
  })
  const { family } = plan.settings
  const sticky = replacements.map(({ before, after }) => editSticky(before.sticky, after.sticky, family))
  const newPickChains = new Map(
    replacements
      .flatMap(({ after }) => after.pickChains)
      .map((chain) => [pickChainName(chain), chain] as const)
      .filter(([name]) => !pickChainsBefore.has(name)),
  )
  const pickChains = writePickChains([...newPickChains.values()], plan.settings)
  return {
    steps: {
      ...pickChains,
      sticky: sticky.flatMap(({ additions }) => additions),
      elements: [
        ...editElements(plan, replacements, transfers).operations(containers),
        ...sticky.flatMap(({ removals }) => removals),
      ],
    },
    unusedChains: [
      ...[...pickChainsBefore].filter((name) => !plan.usesPickChain(name)),
      ...sticky.flatMap(({ unusedChains }) => unusedChains),
    ],
    transfers,
  }
}

interface StickyEdit {
  readonly additions: readonly NftOperation[]
  readonly removals: readonly NftOperation[]
  readonly unusedChains: readonly string[]
}

function editSticky(before: StickyChains, after: StickyChains, family: Family): StickyEdit {
  const kept = new Set([...after.chains, ...after.sets].map(({ name }) => name))
  const unusedChains = before.chains.map(({ name }) => name).filter((name) => !kept.has(name))
  return {
    additions: [
      ...newOrChanged(before.sets, after.sets).map((set): NftOperation => ({ do: 'add set', set })),
      ...newOrChanged(before.chains, after.chains).flatMap((chain) => writeChain(chain, family)),
    ],
    removals: [
      // Their rules hold on to the sets of endpoints that are gone.
      ...unusedChains.map((name): NftOperation => ({ do: 'flush chain', name })),
      ...before.sets.filter(({ name }) => !kept.has(name)).map((set): NftOperation => ({ do: 'delete set', set })),
    ],
    unusedChains,
  }
}

function newOrChanged<T extends { readonly name: string }>(before: readonly T[], after: readonly T[]): readonly T[] {
  const byName = new Map(before.map((thing) => [thing.name, thing]))
  return after.filter((thing) => !isSameData(byName.get(thing.name), thing))
}
