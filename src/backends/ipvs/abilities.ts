/** What the ipvs mode can do of what Services wish. */
import type { ModeAbilities } from '../../core/routing/mode-abilities.ts'
import { ipvsAlgorithms } from './scheduling.ts'

export const ipvsAbilities: ModeAbilities = {
  mode: 'ipvs',
  algorithms: ipvsAlgorithms,
  algorithmsWithAffinity: ipvsAlgorithms,
  weights: true,
  limits: ['ipvsScheduler', 'slowStartMs'],
  portRanges: false,
}
