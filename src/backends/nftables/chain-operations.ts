/** Writes chains and sets into a transaction. */
import type { NftOperation } from '../../dataplane/nft/nft.ts'
import type { Family } from '../../net/ip.ts'
import { isLookup, pickChain } from './pick-chains.ts'
import type { PickChain } from './pick-chains.ts'
import type { PlannedChain } from './planned-chain.ts'
import { renderRule } from './render-rule.ts'
import type { NftablesSettings } from './settings.ts'
import type { TableChange } from './table-change.ts'
import type { StickyChains } from './sticky-chains.ts'

/** Whatever the chain held before, it has these rules then. Chains must come after those that they lead to. */
export function writeChain(chain: PlannedChain, family: Family): readonly NftOperation[] {
  return [declareChain(chain), ...fillChain(chain, family)]
}

/** A chain that is there keeps its rules. */
function declareChain({ rules: _later, ...chain }: PlannedChain): NftOperation {
  return { do: 'add chain', chain }
}

function fillChain({ rules, ...chain }: PlannedChain, family: Family): readonly NftOperation[] {
  return [
    { do: 'flush chain', name: chain.name },
    ...rules.map((rule): NftOperation => ({ do: 'add rule', chain: chain.name, rule: renderRule(rule, family) })),
  ]
}

export function writeSticky({ sets, chains }: StickyChains, family: Family): readonly NftOperation[] {
  return [
    ...sets.map((set): NftOperation => ({ do: 'add set', set })),
    ...chains.flatMap((chain) => writeChain(chain, family)),
  ]
}

/** New chains are empty until their lookups are written. */
export function writePickChains(
  chains: readonly PickChain[],
  settings: NftablesSettings,
): Pick<TableChange, 'structure' | 'lookups'> {
  const { family } = settings
  const planned = (wanted: boolean) =>
    chains.filter((chain) => isLookup(chain) === wanted).map((chain) => pickChain(chain, settings))
  const lookups = planned(true)
  const others = planned(false)
  return {
    structure: [...lookups.map(declareChain), ...others.flatMap((chain) => writeChain(chain, family))],
    lookups: lookups.flatMap((chain) => fillChain(chain, family)),
  }
}
