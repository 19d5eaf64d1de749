/** What the ebpf mode can do of what Services wish. */
import type { ModeAbilities } from '../../core/routing/mode-abilities.ts'

export const ebpfAbilities: ModeAbilities = {
  mode: 'ebpf',
  algorithms: ['random', 'round-robin', 'source-hash', 'maglev'],
  algorithmsWithAffinity: ['random', 'round-robin'],
  weights: true,
  // By packets.
  limits: ['maxConnections', 'maxDialsPerSecond'],
  onRequest: { maxConnectionAgeMs: '--destroy-old-connections' },
  portRanges: true,
}
