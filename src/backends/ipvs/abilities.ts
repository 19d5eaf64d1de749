/** What the ipvs mode can do of what Services wish. */
import type { ModeAbilities } from '../../core/routing/mode-abilities.ts'

export const ipvsAbilities: ModeAbilities = {
  mode: 'ipvs',
  algorithms: [],
  algorithmsWithAffinity: [],
  weights: false,
  limits: [],
}
