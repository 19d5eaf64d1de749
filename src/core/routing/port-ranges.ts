/**
 * A Service may want a range of ports at its addresses (`fairlead.dev/port-range`). One of its ports carries it, for each
 * protocol that has one in the range: the lowest. Its endpoints serve the range, under the policies of the Service, where the
 * Service gets that port itself. The ports that the Service lists stay what they are, and so do its node ports at addresses of
 * the node: the range is cut there, and no data plane has to ask which comes first. Node ports are for single ports only.
 */
import { isInPortRange } from '../../api/port-range.ts'
import type { PortRange, ServicePort } from '../../api/records.ts'
import type { Entrance, RangeEntrance } from '../route.ts'

export function isCarrier(port: ServicePort, ports: readonly ServicePort[], range: PortRange): boolean {
  if (!isInPortRange(port.port, range)) return false
  return !ports.some(
    (other) => other.protocol === port.protocol && other.port < port.port && isInPortRange(other.port, range),
  )
}

/** Undefined where none is left. */
export function rangesCarriedBy(
  carrier: ServicePort,
  entrances: readonly Entrance[],
  ports: readonly ServicePort[],
  range: PortRange,
  nodeIPs: readonly string[],
  isRefused: (ip: string) => boolean,
): readonly RangeEntrance[] | undefined {
  const alike = ports.filter(({ protocol }) => protocol === carrier.protocol)
  const listed = alike.map(({ port }) => port)
  const pieces = cutAt(listed, range)
  const piecesOnNode = cutAt([...listed, ...alike.map(({ nodePort }) => nodePort)], range)
  const ranges = entrances.flatMap((entrance) =>
    entrance.kind === 'node-port' || isRefused(entrance.ip)
      ? []
      : (nodeIPs.includes(entrance.ip) ? piecesOnNode : pieces).map(({ first, last }): RangeEntrance => ({
          ...entrance,
          port: first,
          lastPort: last,
        })),
  )
  return ranges.length === 0 ? undefined : ranges
}

/** What is left of the range without these ports. */
function cutAt(ports: readonly number[], { first, last }: PortRange): readonly PortRange[] {
  const pieces: PortRange[] = []
  let from = first
  for (const port of [...ports.filter((it) => it >= first && it <= last).sort((a, b) => a - b), last + 1]) {
    if (from < port) pieces.push({ first: from, last: port - 1 })
    from = port + 1
  }
  return pieces
}

/** A single port is a range of one. */
export interface Ports {
  readonly port: number
  readonly lastPort?: number
}

export function overlap(left: Ports, right: Ports): boolean {
  return left.port <= (right.lastPort ?? right.port) && right.port <= (left.lastPort ?? left.port)
}

/** `30000-30100`, or `80`. */
export function portsText({ port, lastPort }: Ports): string {
  return lastPort === undefined ? String(port) : `${port}-${lastPort}`
}
