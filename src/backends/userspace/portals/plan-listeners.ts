/** What must listen for a route, so that portals have somewhere to lead to. */
import type { NonEmpty, Outcome, Route } from '../../../core/route.ts'
import { noSctp, poolFor } from '../plan.ts'
import type { PlannedListener, Purpose, RoutePlan } from '../plan.ts'
import type { Listening } from '../route-listeners.ts'
import { doorName, doorsInUse } from './doors.ts'
import type { Door, DoorName } from './doors.ts'
import type { PortalSettings } from './settings.ts'

/** The ports that a route has. One that could not be had is not there. */
export interface RoutePorts {
  readonly byDoor: Readonly<Partial<Record<DoorName, number>>>
  /** The addresses at which the node port is ours; the unspecified one means everywhere. */
  readonly nodePortIps: readonly string[]
}

export function planListeners(route: Route, settings: PortalSettings): RoutePlan {
  const { key, protocol } = route
  if (protocol === 'SCTP') return { key, listeners: [], problem: noSctp }
  const doors = doorsInUse(route, settings)
  const asksWhere = doors.some(({ keeps }) => keeps !== 'nobody')
  const listener = (
    id: string,
    purpose: Purpose,
    ip: string,
    ports: NonEmpty<number>,
    outcome: Outcome,
    keeps: Door['keeps'] = 'nobody',
  ): PlannedListener => ({
    id,
    purpose,
    protocol,
    ip,
    ports,
    // The rules have asked for the source already.
    allowedSources: [],
    ...(keeps !== 'nobody' && { keeps: { of: keeps, pods: settings.localTraffic } }),
    pool: poolFor(outcome, route, ({ isLocal }) => asksWhere && isLocal),
  })
  return {
    key,
    listeners: [
      ...doors.map((door) =>
        listener(proxyPortId(route, door, settings), 'proxy-port', settings.listenIp, [0], door.outcome, door.keeps),
      ),
      // Rules take these packets before they get here. It is there so that no program of this machine takes the port.
      ...nodePortPlaces(route, settings).map(({ ip, port, outcome }) =>
        listener(nodePortId(route, ip, port), 'node-port', ip, [port], outcome),
      ),
    ],
    problem: undefined,
  }
}

export function portsOf(route: Route, settings: PortalSettings, listening: readonly Listening[]): RoutePorts {
  const portsById = new Map(listening.map(({ id, address }) => [id, address.port]))
  const byDoor: Partial<Record<DoorName, number>> = {}
  for (const door of doorsInUse(route, settings)) {
    const port = portsById.get(proxyPortId(route, door, settings))
    if (port !== undefined) byDoor[doorName(door)] = port
  }
  const ours = nodePortPlaces(route, settings).filter(({ ip, port }) => portsById.has(nodePortId(route, ip, port)))
  return { byDoor, nodePortIps: ours.map(({ ip }) => ip) }
}

function nodePortPlaces({ entrances }: Route, { nodePortIps }: PortalSettings) {
  return entrances.flatMap(({ kind, port, outside }) =>
    kind === 'node-port' ? nodePortIps.map((ip) => ({ ip, port, outcome: outside })) : [],
  )
}

function proxyPortId({ family, key }: Route, door: Door, { listenIp }: PortalSettings): string {
  return `${family} ${key} proxy-port ${doorName(door)} ${listenIp}`
}

function nodePortId({ family, key }: Route, ip: string, port: number): string {
  return `${family} ${key} node-port ${ip} ${port}`
}
