/** What must listen for a route, so that portals have somewhere to lead to. */
import type { TrafficPolicy } from '../../../api/records.ts'
import type { Endpoint, NonEmpty, Route } from '../../../core/route.ts'
import { noSctp, poolUnder } from '../plan.ts'
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
    policy: TrafficPolicy,
  ): PlannedListener => ({
    id,
    purpose,
    protocol,
    ip,
    ports,
    // The rules have asked for the source already.
    allowedSources: [],
    pool: poolUnder(policy, route, isTransparent),
  })
  return {
    key,
    listeners: [
      ...policiesInUse(route).map((policy) =>
        listener(proxyPortId(route, policy, settings), 'proxy-port', settings.listenIp, [0], policy),
      ),
      // Rules take these packets before they get here. It is there so that no program of this machine takes the port.
      ...nodePortIpsOf(route, settings).map((ip) =>
        listener(nodePortId(route, ip), 'node-port', ip, [route.nodePort], route.externalPolicy),
      ),
    ],
    problem: undefined,
  }
}

export function portsOf(route: Route, settings: PortalSettings, listening: readonly Listening[]): RoutePorts {
  const portsById = new Map(listening.map(({ id, address }) => [id, address.port]))
  const byPolicy: Partial<Record<TrafficPolicy, number>> = {}
  for (const policy of policiesInUse(route)) {
    const port = portsById.get(proxyPortId(route, policy, settings))
    if (port !== undefined) byPolicy[policy] = port
  }
  const isOurs = (ip: string) => portsById.has(nodePortId(route, ip))
  return { byPolicy, nodePortIps: nodePortIpsOf(route, settings).filter(isOurs) }
}

/** Where traffic from outside may only use local endpoints, that of pods and of the node itself may still use all. */
function policiesInUse(route: Route): readonly TrafficPolicy[] {
  const hasDoors = route.nodePort !== 0 || route.externalIPs.length > 0 || route.loadBalancerIPs.length > 0
  const policies: TrafficPolicy[] = []
  if (route.internalPolicy === 'Cluster' || hasDoors) policies.push('Cluster')
  if (route.internalPolicy === 'Local' || (hasDoors && route.externalPolicy === 'Local')) policies.push('Local')
  return policies
}

/** Pods of other nodes would answer to the client itself, and programs of the node would not get past it either. */
function transparentEndpoints(route: Route, { canBeTransparent, hostIp }: ListenersContext) {
  const isWished = canBeTransparent && wishesTransparency(route)
  return ({ isLocal, ip }: Endpoint): boolean => isWished && isLocal && ip !== hostIp
}

function nodePortIpsOf({ nodePort }: Route, { nodePortIps }: PortalSettings): readonly string[] {
  return nodePort === 0 ? [] : nodePortIps
}

function proxyPortId({ family, key }: Route, policy: TrafficPolicy, { listenIp }: PortalSettings): string {
  return `${family} ${key} proxy-port ${policy} ${listenIp}`
}

function nodePortId({ family, key, nodePort }: Route, ip: string): string {
  return `${family} ${key} node-port ${ip} ${nodePort}`
}
