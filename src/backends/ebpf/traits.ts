/** What a client of the eBPF mode meets. Clients elsewhere, and what the hooks leave alone, meet the packets: nftables. */
import type { ModeTraits } from '../../core/explain/mode-traits.ts'

/** `packets` are those of the mode that serves the rest. */
export function ebpfTraits(
  packets: ModeTraits,
  { loopbackNodePorts }: { readonly loopbackNodePorts: boolean },
): ModeTraits {
  return { ...packets, mode: 'ebpf', nodePortsOnLoopback: loopbackNodePorts ? ['ipv4', 'ipv6'] : [] }
}
