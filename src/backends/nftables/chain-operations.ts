/** Writes chains and sets into a transaction. */
import type { NftOperation } from '../../dataplane/nft/nft.ts'
import type { OwnChains } from './own-chains.ts'
import { isLookup, pickChain } from './pick-chains.ts'
import type { PickChain } from './pick-chains.ts'
import type { PlannedChain } from './planned-chain.ts'
import type { NftablesSettings } from './settings.ts'
import type { TableChange } from './table-change.ts'

/** Whatever the chain held before, it has these rules then. Chains must come after those that they lead to. */
export function writeChain(chain: PlannedChain): readonly NftOperation[] {
  return [declareChain(chain), ...fillChain(chain)]
}

/** A chain that is there keeps its rules. */
function declareChain({ rules: _later, ...chain }: PlannedChain): NftOperation {
  return { do: 'add chain', chain }
}

function fillChain({ name, rules }: PlannedChain): readonly NftOperation[] {
  return [{ do: 'flush chain', name }, ...rules.map((rule): NftOperation => ({ do: 'add rule', chain: name, rule }))]
}

export function writeOwn({ sets, chains }: OwnChains): readonly NftOperation[] {
  return [...sets.map((set): NftOperation => ({ do: 'add set', set })), ...chains.flatMap(writeChain)]
}

/** New chains are empty until their lookups are written. */
export function writePickChains(
  chains: readonly PickChain[],
  settings: NftablesSettings,
): Pick<TableChange, 'structure' | 'lookups'> {
  const planned = (wanted: boolean) =>
    chains.filter((chain) => isLookup(chain) === wanted).map((chain) => pickChain(chain, settings))
  const lookups = planned(true)
  return {
    structure: [...lookups.map(declareChain), ...planned(false).flatMap(writeChain)],
    lookups: lookups.flatMap(fillChain),
  }
}
