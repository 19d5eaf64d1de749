/**
 * What differs between modes for a client: facts of the rules that they write, gathered here so that an explanation need
 * not know a mode. Packet tests hold them against real packets.
 */
import type { Protocol } from '../../api/records.ts'
import type { Family } from '../../net/ip.ts'
import type { SocketReach } from '../left-to-packets.ts'
import type { Route } from '../route.ts'

export interface ModeTraits {
  readonly mode: string
  /** How one of several endpoints is chosen, after "one of 3 endpoints, ". */
  readonly choice: string
  /** Each endpoint gets as many new connections as the others. */
  readonly isEven: boolean
  /** Where more than the algorithm of a Service decides how one is chosen. Missing: the two above, or its algorithm. */
  readonly choosing?: (route: Route) => Choosing
  /** Whose endpoints serve: those for the client's place, one list for everybody, or what is said for clients outside. */
  readonly endpoints: 'by source' | 'one list' | 'of the outside'
  /** How a client without an endpoint is turned away: before it is accepted, after it, or by nobody. */
  readonly unserved: 'by a rule' | 'by a socket' | 'not at all'
  /**
   * When source ranges are asked: before all else, at the entrance that has them, there but only where somebody serves, by
   * the socket, or never.
   */
  readonly sourceRanges: 'first' | 'at the entrance' | 'where somebody serves' | 'by a socket' | 'never'
  /** Whether they are asked for what this node itself sends, from whichever address. */
  readonly asksRangesOfNode: boolean
  /** At which addresses a port that the Service does not have is rejected. */
  readonly rejectsOtherPorts: 'at cluster IPs' | 'at all addresses' | 'nowhere'
  /** Addresses in the ranges of Services that no Service has are dropped. */
  readonly dropsFreeAddresses: boolean
  /** What this node sends to external addresses that are not its own. */
  readonly fromNodeToElsewhere: 'as from others' | 'not rejected' | 'not at external IPs'
  readonly nodePorts: 'as configured' | 'everywhere'
  /** Families in which node ports answer on loopback, if they are open there at all. */
  readonly nodePortsOnLoopback: readonly Family[]
  /** Of listeners on 127.0.0.1 and ::1, which have the node ports that the mode itself does not have there. Missing: none. */
  readonly localhostListeners?: ModeTraits
  /** Who decides what source an endpoint sees. */
  readonly source: 'masquerading' | 'the relay' | 'HNS'
  /** Families in which a relay dials from the address of the client, where a kernel mode would keep it. */
  readonly relaysAsClientIn: readonly Family[]
  /** Why not in the others, where that is known. */
  readonly relaysAsNodeBecause?: Readonly<Partial<Record<Family, string>>>
  /** Who counts as a pod on this node: as the configuration says, or by the range of this Node where that is known. */
  readonly localPods: 'as configured' | 'of this node'
  /** Which endpoints that reach themselves are masqueraded: those on this node, or all. */
  readonly hairpins: 'on this node' | 'everywhere'
  readonly unsupported: readonly Protocol[]
  /** Services are served at their addresses, or at a loopback address of the machine instead. */
  readonly servesAt: 'their addresses' | 'loopback'
  /** Whose sockets are connected to endpoints, before there is a packet. Missing: nobody's. */
  readonly sockets?: SocketTraits
  /** CIDRs: from pod to pod of one of them nothing is tracked, so packets that are translated there hide their client. */
  readonly untrackedPods?: readonly string[]
  /** Whether the timeout of client-IP affinity is that of the Service. */
  readonly keepsAffinityTimeout: boolean
}

export interface Choosing {
  /** As `choice`. */
  readonly choice: string
  /** What part of the new connections an endpoint gets, if that can be said beforehand. */
  readonly shares: 'equal' | 'by weight' | 'not known'
}

export interface SocketTraits extends SocketReach {
  readonly clients: 'this node' | 'this node and its pods'
  /** Whose datagram sockets may be connected; those of others send to an address, or are left to packets. */
  readonly connectedUdp: 'nobody' | 'this node' | 'this node and its pods'
}
