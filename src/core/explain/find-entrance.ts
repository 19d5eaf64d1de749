/** Which Service port an address or a node port leads to. */
import type { Protocol } from '../../api/records.ts'
import type { AddressEntrance, Entrance, NodePortEntrance, RangeEntrance, Route } from '../route.ts'
import type { AskedProtocol } from './explanation.ts'
import type { ModeTraits } from './mode-traits.ts'
import { isNodeAddress, isOpenForNodePorts, localhostListeners } from './places.ts'
import type { Scene } from './world.ts'

export interface Found {
  readonly route: Route
  readonly entrance: Entrance | RangeEntrance
  /** Absent for a node port on whichever address. */
  readonly ip: string | undefined
  /** False for a node port that is not open on the address. */
  readonly isOpen: boolean
  /** Whoever has the node port there instead of the mode. */
  readonly listeners?: ModeTraits | undefined
  /** Which port was asked for, where the entrance is a range of them. */
  readonly portInRange?: number
}

/** Those of single ports first. */
export function everyEntrance({ entrances, ranges = [] }: Route): readonly (Entrance | RangeEntrance)[] {
  return [...entrances, ...ranges]
}

/** Looks at every route: for a question, not for a sync. */
export function findAt(ip: string, port: number, protocol: AskedProtocol, scene: Scene): Found | undefined {
  const isThere = (entrance: Entrance): entrance is AddressEntrance =>
    entrance.kind !== 'node-port' && entrance.ip === ip && entrance.port === port
  for (const route of scene.table.view.routesByKey.values()) {
    const entrance = route.protocol === protocol ? route.entrances.find(isThere) : undefined
    if (entrance !== undefined) return { route, entrance, ip, isOpen: true }
  }
  const atNodePort = findNodePortAt(ip, port, protocol, scene)
  return atNodePort?.isOpen === true ? atNodePort : (findRange(ip, port, protocol, scene) ?? atNodePort)
}

function findNodePortAt(ip: string, port: number, protocol: AskedProtocol, scene: Scene): Found | undefined {
  if (protocol === 'ICMP' || !isNodeAddress(ip, scene)) return undefined
  const found = findNodePort(port, protocol, scene)
  if (found === undefined) return undefined
  const listeners = localhostListeners(ip, protocol, scene)
  return { ...found, ip, isOpen: listeners !== undefined || isOpenForNodePorts(ip, scene), listeners }
}

/** A range is for ports that nobody has by itself. */
function findRange(ip: string, port: number, protocol: AskedProtocol, scene: Scene): Found | undefined {
  for (const route of scene.table.view.routesByKey.values()) {
    const entrance =
      route.protocol === protocol
        ? route.ranges?.find((it) => it.ip === ip && port >= it.port && port <= it.lastPort)
        : undefined
    if (entrance !== undefined) return { route, entrance, ip, isOpen: true, portInRange: port }
  }
  return undefined
}

export function findNodePort(port: number, protocol: Protocol, scene: Scene): Found | undefined {
  const isThere = (entrance: Entrance): entrance is NodePortEntrance =>
    entrance.kind === 'node-port' && entrance.port === port
  for (const route of scene.table.view.routesByKey.values()) {
    const entrance = route.protocol === protocol ? route.entrances.find(isThere) : undefined
    if (entrance !== undefined) return { route, entrance, ip: undefined, isOpen: true }
  }
  return undefined
}
