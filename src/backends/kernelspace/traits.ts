/** What a client of the kernelspace mode meets. */
import type { ModeTraits } from '../../core/explain/mode-traits.ts'

export const kernelspaceTraits: ModeTraits = {
  mode: 'kernelspace',
  choice: 'by HNS',
  isEven: true,
  endpoints: 'of the outside',
  unserved: 'not at all',
  sourceRanges: 'never',
  asksRangesOfNode: false,
  rejectsOtherPorts: 'nowhere',
  dropsFreeAddresses: false,
  fromNodeToElsewhere: 'as from others',
  nodePorts: 'everywhere',
  nodePortsOnLoopback: [],
  source: 'HNS',
  relaysAsClientIn: [],
  localPods: 'as configured',
  hairpins: 'on this node',
  unsupported: [],
  servesAt: 'their addresses',
  keepsAffinityTimeout: false,
}
