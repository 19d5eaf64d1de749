/** What a client of the iptables mode meets. */
import type { ModeTraits } from '../../core/explain/mode-traits.ts'

export function iptablesTraits(options: { readonly localhostNodePorts: boolean }): ModeTraits {
  return {
    mode: 'iptables',
    choice: 'at random',
    isEven: true,
    endpoints: 'by source',
    unserved: 'by a rule',
    // Without an endpoint there is no chain that would ask for the source: all are rejected.
    sourceRanges: 'where somebody serves',
    asksRangesOfNode: true,
    rejectsOtherPorts: 'nowhere',
    dropsFreeAddresses: false,
    // KUBE-EXTERNAL-SERVICES is asked on the way in and through, not on the way out.
    fromNodeToElsewhere: 'not rejected',
    nodePorts: 'as configured',
    nodePortsOnLoopback: options.localhostNodePorts ? ['ipv4'] : [],
    source: 'masquerading',
    relaysAsClientIn: [],
    localPods: 'as configured',
    hairpins: 'everywhere',
    unsupported: [],
    servesAt: 'their addresses',
    keepsAffinityTimeout: true,
  }
}
