/** What the iptables mode can do of what Services wish. */
import type { ModeAbilities } from '../../core/routing/mode-abilities.ts'

export const iptablesAbilities: ModeAbilities = {
  mode: 'iptables',
  algorithms: ['random'],
  algorithmsWithAffinity: ['random'],
  weights: false,
  limits: [],
}
