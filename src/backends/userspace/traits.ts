/** What a client of the userspace mode meets, in each of its ways. */
import type { ModeTraits } from '../../core/explain/mode-traits.ts'
import { families } from '../../net/ip.ts'

/** Rules of the kernel lead to the relay. */
export const portalTraits: ModeTraits = {
  mode: 'userspace',
  choice: 'each in turn',
  isEven: true,
  endpoints: 'by source',
  unserved: 'by a rule',
  sourceRanges: 'at the entrance',
  asksRangesOfNode: true,
  rejectsOtherPorts: 'nowhere',
  dropsFreeAddresses: false,
  fromNodeToElsewhere: 'not at external IPs',
  nodePorts: 'as configured',
  nodePortsOnLoopback: ['ipv4', 'ipv6'],
  source: 'the relay',
  relaysAsClientIn: families,
  localPods: 'of this node',
  hairpins: 'on this node',
  unsupported: ['SCTP'],
  servesAt: 'their addresses',
  keepsAffinityTimeout: true,
}

/** Sockets at the addresses of Services: one outcome for all clients, and a connection is accepted before it is judged. */
export const socketTraits: ModeTraits = {
  ...portalTraits,
  endpoints: 'of the outside',
  unserved: 'by a socket',
  relaysAsClientIn: [],
  localPods: 'as configured',
  sourceRanges: 'by a socket',
  fromNodeToElsewhere: 'as from others',
}

/** Beside a mode whose node ports are elsewhere: whoever connects to loopback is on this node. */
export function localhostTraits(mode: string): ModeTraits {
  return { ...socketTraits, mode, endpoints: 'by source' }
}

/** One socket on loopback for each Service port. */
export const loopbackTraits: ModeTraits = { ...socketTraits, servesAt: 'loopback' }
