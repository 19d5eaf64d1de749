/** What a client of the ebpf mode meets. */
import type { ModeTraits, SocketTraits } from '../../core/explain/mode-traits.ts'
import { families } from '../../net/ip.ts'
import { longestList } from './layout.ts'

/** Whose sockets are connected to endpoints, and what else clients notice of the mode. */
export interface ServedSockets extends Omit<SocketTraits, 'longestList'> {
  /** Node ports answer on loopback, for processes of the node. */
  readonly onLoopback: boolean
  /** CIDRs. */
  readonly untrackedPods: readonly string[]
}

/** `packets`: those of the mode that has what is left alone. */
export function ebpfTraits(packets: ModeTraits, { onLoopback, untrackedPods, ...sockets }: ServedSockets): ModeTraits {
  const nodePortsOnLoopback = onLoopback ? families : packets.nodePortsOnLoopback
  return { ...packets, mode: 'ebpf', sockets: { ...sockets, longestList }, nodePortsOnLoopback, untrackedPods }
}
