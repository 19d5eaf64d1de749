/** Which Service port an address or a node port leads to. */
import type { Protocol } from '../../api/records.ts'
import type { AddressEntrance, Entrance, NodePortEntrance, Route } from '../route.ts'
import type { AskedProtocol } from './explanation.ts'
import { isNodeAddress, isOpenForNodePorts } from './places.ts'
import type { Scene } from './world.ts'

export interface Found {
  readonly route: Route
  readonly entrance: Entrance
  /** Absent for a node port on whichever address. */
  readonly ip: string | undefined
  /** False for a node port that is not open on the address. */
  readonly isOpen: boolean
}

/** Looks at every route: for a question, not for a sync. */
export function findAt(ip: string, port: number, protocol: AskedProtocol, scene: Scene): Found | undefined {
  const isThere = (entrance: Entrance): entrance is AddressEntrance =>
    entrance.kind !== 'node-port' && entrance.ip === ip && entrance.port === port
  for (const route of scene.table.view.routesByKey.values()) {
    const entrance = route.protocol === protocol ? route.entrances.find(isThere) : undefined
    if (entrance !== undefined) return { route, entrance, ip, isOpen: true }
  }
  if (protocol === 'ICMP' || !isNodeAddress(ip, scene)) return undefined
  const found = findNodePort(port, protocol, scene)
  return found && { ...found, ip, isOpen: isOpenForNodePorts(ip, scene) }
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
