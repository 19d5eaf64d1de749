/** What must listen for a route, so that portals have somewhere to lead to. */
import type { TrafficPolicy } from '../../../api/records.ts'
import type { Endpoint, NonEmpty, Outcome, Route } from '../../../core/route.ts'
import { noSctp, poolFor } from '../plan.ts'
import type { PlannedListener, Purpose, RoutePlan } from '../plan.ts'
import type { Listening } from '../route-listeners.ts'
import type { PortalSettings } from './settings.ts'
import { wishesTransparency } from './transparency.ts'

/** The ports that a route has. One that could not be had is not there. */
export interface RoutePorts {
  /** A socket cannot tell which address the client used, so each policy in use has a port of its own. */
  readonly byPolicy: Readonly<Partial<Record<TrafficPolicy, number>>>
  /** The addresses at which the node port is ours; the unspecified one means everywhere. */
  readonly nodePortIps: readonly string[]
}

export interface ListenersContext extends PortalSettings {
  /** Answers to clients whose address the relay uses find back to it. */
  readonly canBeTransparent: boolean
}

export function planListeners(route: Route, settings: ListenersContext): RoutePlan {
  const { key, protocol } = route
  if (protocol === 'SCTP') return { key, listeners: [], problem: noSctp }
  const isTransparent = transparentEndpoints(route, settings)
  const listener = (
    id: string,
    purpose: Purpose,
    ip: string,
    ports: NonEmpty<number>,
    outcome: Outcome,
  ): PlannedListener => ({
    id,
    purpose,
    protocol,
    ip,
    ports,
    // The rules have asked for the source already.
    allowedSources: [],
    pool: poolFor(outcome, route, isTransparent),
  })
  return {
    key,
    listeners: [
      ...outcomesInUse(route).map((outcome) =>
        listener(proxyPortId(route, outcome.policy, settings), 'proxy-port', settings.listenIp, [0], outcome),
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
  const byPolicy: Partial<Record<TrafficPolicy, number>> = {}
  for (const { policy } of outcomesInUse(route)) {
    const port = portsById.get(proxyPortId(route, policy, settings))
    if (port !== undefined) byPolicy[policy] = port
  }
  const ours = nodePortPlaces(route, settings).filter(({ ip, port }) => portsById.has(nodePortId(route, ip, port)))
  return { byPolicy, nodePortIps: ours.map(({ ip }) => ip) }
}

/** One for each policy that somebody meets at some entrance. */
export function outcomesInUse({ entrances }: Route): readonly Outcome[] {
  const byPolicy = new Map<TrafficPolicy, Outcome>()
  for (const { inside, outside } of entrances)
    for (const outcome of [inside, outside]) byPolicy.set(outcome.policy, outcome)
  return (['Cluster', 'Local'] as const).flatMap((policy) => byPolicy.get(policy) ?? [])
}

/** Pods of other nodes would answer to the client itself, and programs of the node would not get past it either. */
function transparentEndpoints(route: Route, { canBeTransparent, hostIp }: ListenersContext) {
  const isWished = canBeTransparent && wishesTransparency(route)
  return ({ isLocal, ip }: Endpoint): boolean => isWished && isLocal && ip !== hostIp
}

function nodePortPlaces({ entrances }: Route, { nodePortIps }: PortalSettings) {
  return entrances.flatMap(({ kind, port, outside }) =>
    kind === 'node-port' ? nodePortIps.map((ip) => ({ ip, port, outcome: outside })) : [],
  )
}

function proxyPortId({ family, key }: Route, policy: TrafficPolicy, { listenIp }: PortalSettings): string {
  return `${family} ${key} proxy-port ${policy} ${listenIp}`
}

function nodePortId({ family, key }: Route, ip: string, port: number): string {
  return `${family} ${key} node-port ${ip} ${port}`
}
