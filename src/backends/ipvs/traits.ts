/** What a client of the ipvs mode meets. */
import type { ModeTraits } from '../../core/explain/mode-traits.ts'

export function ipvsTraits({ scheduler }: { readonly scheduler: string }): ModeTraits {
  const isInTurn = scheduler === 'rr' || scheduler === 'wrr'
  return {
    mode: 'ipvs',
    choice: isInTurn ? 'each in turn' : `by the scheduler ${scheduler} of IPVS`,
    isEven: isInTurn,
    endpoints: 'one list',
    unserved: 'by a rule',
    sourceRanges: 'first',
    // The rules ask on the way in; on the way out only for the address of the load balancer itself.
    asksRangesOfNode: false,
    // The addresses are on a link of this node, so that a daemon of the node would answer.
    rejectsOtherPorts: 'at all addresses',
    dropsFreeAddresses: false,
    fromNodeToElsewhere: 'as from others',
    nodePorts: 'as configured',
    nodePortsOnLoopback: [],
    source: 'masquerading',
    relaysAsClientIn: [],
    localPods: 'as configured',
    hairpins: 'on this node',
    unsupported: [],
    servesAt: 'their addresses',
    keepsAffinityTimeout: true,
  }
}
