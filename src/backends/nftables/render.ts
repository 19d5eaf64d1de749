/** The script that makes the whole table, for `nft -f`. */
import { renderScript } from '../../dataplane/nft/command/script.ts'
import type { NftablesPlan } from './plan.ts'
import { replacement } from './whole-table.ts'

export function renderPlan(plan: NftablesPlan): string {
  return renderScript(plan.settings.family, replacement(plan))
}
