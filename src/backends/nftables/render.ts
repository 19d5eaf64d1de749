/** The script that makes the whole table, for `nft -f`. */
import type { NodeView } from '../../core/backend.ts'
import { renderScript } from '../../dataplane/nft/script.ts'
import type { NftablesState } from './settings.ts'
import { planTable, replacement } from './whole-table.ts'

export function renderTable(view: NodeView, state: NftablesState): string {
  return renderScript(view.family, replacement(planTable(view, state)))
}
