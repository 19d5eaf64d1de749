/** What the userspace mode can do of what Services wish. */
import { algorithms } from '../../api/records.ts'
import type { ModeAbilities } from '../../core/routing/mode-abilities.ts'

export const userspaceAbilities: ModeAbilities = {
  mode: 'userspace',
  algorithms,
  algorithmsWithAffinity: algorithms,
  weights: true,
  limits: [
    'maxConnectionAgeMs',
    'maxConnections',
    'maxConnectionsPerEndpoint',
    'maxDialsPerSecond',
    'maxDialsPerSecondPerEndpoint',
  ],
  portRanges: false,
}
