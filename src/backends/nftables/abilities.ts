/** What the nftables mode can do of what Services wish. */
import type { ModeAbilities } from '../../core/routing/mode-abilities.ts'

export const nftablesAbilities: ModeAbilities = {
  mode: 'nftables',
  algorithms: ['random', 'round-robin', 'source-hash', 'maglev'],
  algorithmsWithAffinity: ['random'],
  weights: true,
  // The endpoint is picked last: nobody can count for it before.
  limits: ['maxConnections', 'maxDialsPerSecond'],
  onRequest: { maxConnectionAgeMs: '--destroy-old-connections' },
  portRanges: true,
}
