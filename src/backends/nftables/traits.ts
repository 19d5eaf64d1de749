/** What a client of the nftables mode meets. */
import type { ModeTraits } from '../../core/explain/mode-traits.ts'

export const nftablesTraits: ModeTraits = {
  mode: 'nftables',
  choice: 'at random',
  isEven: true,
  endpoints: 'by source',
  unserved: 'by a rule',
  sourceRanges: 'first',
  asksRangesOfNode: true,
  rejectsOtherPorts: 'at cluster IPs',
  dropsFreeAddresses: true,
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
