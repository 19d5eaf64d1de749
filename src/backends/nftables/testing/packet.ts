/** The first packet of a connection, and where it meets the node. */
import type { Family } from '../../../net/ip.ts'
import { isLoopback } from '../../../net/ip.ts'

export interface Packet {
  /** Packets of programs on the node itself start at `output`. */
  readonly enters: 'prerouting' | 'output'
  /** Empty at `output`. */
  readonly inInterface: string
  readonly source: string
  readonly destination: string
  readonly protocol: string
  /** 0 where the protocol has none. */
  readonly port: number
}

export interface PacketNode {
  readonly family: Family
  /** What is not loopback. */
  readonly localIps: readonly string[]
}

export function isLocalAddress({ localIps }: PacketNode, ip: string): boolean {
  return isLoopback(ip) || localIps.includes(ip)
}

export function describePacket({ enters, inInterface, source, destination, protocol, port }: Packet): string {
  const place = enters === 'output' ? 'this node' : inInterface
  return `${protocol} from ${source} (${place}) to ${destination} port ${port}`
}
