/** What the kernelspace mode can do of what Services wish. */
import type { ModeAbilities } from '../../core/routing/mode-abilities.ts'

export const kernelspaceAbilities: ModeAbilities = {
  mode: 'kernelspace',
  algorithms: [],
  algorithmsWithAffinity: [],
  weights: false,
  limits: [],
  portRanges: false,
}
