/** What the iptables mode can do of what Services wish. */
import type { ModeAbilities } from '../../core/routing/mode-abilities.ts'
import type { Iptables } from '../../dataplane/iptables/iptables.ts'

export const iptablesAbilities: ModeAbilities = {
  mode: 'iptables',
  algorithms: ['random', 'source-hash'],
  algorithmsWithAffinity: ['random', 'source-hash'],
  weights: true,
  limits: [],
  onRequest: { maxConnectionAgeMs: '--destroy-old-connections' },
  portRanges: true,
}

/** Some kernels are built without the match that can hash addresses. */
export async function abilitiesHere(iptables: Pick<Iptables, 'hasMatch'>, signal: AbortSignal): Promise<ModeAbilities> {
  if (await iptables.hasMatch('bpf', signal)) return iptablesAbilities
  return {
    ...iptablesAbilities,
    algorithms: ['random'],
    algorithmsWithAffinity: ['random'],
    lacking: {
      'source-hash':
        'this node cannot do it in iptables mode: its kernel or its iptables has no match "bpf"; add the kernel module xt_bpf and restart',
    },
  }
}
