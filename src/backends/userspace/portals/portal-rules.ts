/** The rules that lead from the addresses of a route to its proxy ports. */
import { routeName } from '../../../core/route.ts'
import type { AddressEntrance, Entrance, NodePortEntrance, Outcome, Route } from '../../../core/route.ts'
import { hostPort, isUnspecified, renderCidr } from '../../../net/ip.ts'
import { comment } from '../../../dataplane/iptables/language/rule.ts'
import type { Match, Rule, Target } from '../../../dataplane/iptables/language/rule.ts'
import type { SharedRule } from '../../../dataplane/iptables/language/rendered-rules.ts'
import { cidrsOf } from '../plan.ts'
import { portalChains } from './chains.ts'
import { doorName, doorsInUse, doorsOf } from './doors.ts'
import type { Door, DoorName, Doors } from './doors.ts'
import { externalEntries } from './external-entries.ts'
import type { RoutePorts } from './plan-listeners.ts'
import type { PortalSettings } from './settings.ts'

interface Portal {
  readonly route: Route
  readonly ports: RoutePorts
  readonly settings: PortalSettings
}

const isLocal: Match = { kind: 'local-address', end: 'destination' }

export function portalRules(portal: Portal): readonly SharedRule[] {
  return [
    ...portal.route.entrances.flatMap((entrance) => entranceRules(portal, entrance)),
    ...proxyPortRules(portal),
    ...healthCheckRules(portal),
  ]
}

export function entranceRules(portal: Portal, entrance: Entrance): readonly SharedRule[] {
  switch (entrance.kind) {
    case 'cluster-ip':
      return clusterIpRules(portal, entrance)
    case 'external-ip':
      // What pods behind a bridge and the node itself send to an external address elsewhere goes there.
      return externalRules(portal, entrance, [[{ kind: 'not-bridged' }], [isLocal]], [isLocal])
    case 'load-balancer-ip':
      return externalRules(portal, entrance, [[]], [])
    case 'node-port':
      return nodePortRules(portal, entrance)
    default:
      return entrance satisfies never
  }
}

function clusterIpRules(portal: Portal, entrance: AddressEntrance): readonly SharedRule[] {
  const address = addressed(portal, entrance)
  const { inside, outside } = doorsAt(portal, entrance)
  return [
    ...fromElsewhere(portal, portalChains.portalsContainer, [address], outside),
    ...fromHost(portal, portalChains.portalsHost, [address], inside),
  ]
}

/**
 * For packets that arrive and meet one of the conditions, and for what the node itself sends. Where not everybody may
 * come, the others are dropped.
 */
function externalRules(
  portal: Portal,
  entrance: AddressEntrance,
  conditions: readonly (readonly Match[])[],
  hostCondition: readonly Match[],
): readonly SharedRule[] {
  const address = addressed(portal, entrance)
  const sources = entrance.allowed && cidrsOf(entrance.allowed).map(renderCidr)
  const doors = doorsAt(portal, entrance)
  const entries = externalEntries(doors, portal.settings.localTraffic, sources)
  const ofHost = sources === undefined ? [[]] : sources.map((value) => [{ kind: 'source', value } as const])
  return [
    ...conditions.flatMap((condition) =>
      entries.flatMap(({ matches, door }) =>
        fromElsewhere(portal, portalChains.portalsContainer, [address, ...condition, ...matches], door),
      ),
    ),
    ...ofHost.flatMap((matches) =>
      fromHost(portal, portalChains.portalsHost, [address, ...hostCondition, ...matches], doors.inside),
    ),
    ...(sources === undefined ? [] : [notAllowed(portal, address)]),
  ]
}

/** Whom no portal took still has the load-balancer address as its destination. */
function notAllowed({ route }: Portal, address: Match): SharedRule {
  const matches = [comment(`${routeName(route)} is not for this source`), address]
  return { table: 'filter', chain: portalChains.firewall, rule: { matches, target: { kind: 'drop' } } }
}

function nodePortRules(portal: Portal, entrance: NodePortEntrance): readonly SharedRule[] {
  const { route, ports, settings } = portal
  const { protocol } = route
  const doors = doorsAt(portal, entrance)
  const entries = externalEntries(doors, settings.localTraffic)
  const rules = ports.nodePortIps.flatMap((ip) => {
    const traffic: Match = { kind: 'traffic', protocol, ...unlessEverywhere(ip), destinationPort: entrance.port }
    return [
      ...entries.flatMap(({ matches, door }) =>
        fromElsewhere(portal, portalChains.nodePortContainer, [traffic, ...matches], door),
      ),
      ...fromHost(portal, portalChains.nodePortHost, [traffic], doors.inside),
    ]
  })
  if (rules.length === 0) return []
  const accepted = new Set([doors.inside, ...entries.map(({ door }) => door)].map(doorName))
  return [...rules, ...[...accepted].flatMap((door) => acceptedPort(portal, door))]
}

function doorsAt({ route, settings }: Portal, entrance: Entrance): Doors {
  return doorsOf(entrance, route, settings)
}

function acceptedPort({ route, ports }: Portal, door: DoorName): readonly SharedRule[] {
  const destinationPort = ports.byDoor[door]
  if (destinationPort === undefined) return []
  const matches: readonly Match[] = [
    comment(routeName(route)),
    { kind: 'traffic', protocol: route.protocol, destinationPort },
    { kind: 'new-connection' },
  ]
  return [{ table: 'filter', chain: portalChains.nodePortNonLocal, rule: { matches, target: { kind: 'accept' } } }]
}

/** Proxy ports are for portals: who connects to one directly would pass by policies and source ranges. */
function proxyPortRules({ route, ports, settings }: Portal): readonly SharedRule[] {
  const name = routeName(route)
  const came: Match = { kind: 'connection-state', states: ['DNAT'], isNot: true }
  return doorsInUse(route, settings).flatMap((door) => {
    const destinationPort = ports.byDoor[doorName(door)]
    if (destinationPort === undefined) return []
    const { protocol } = route
    const traffic: Match = { kind: 'traffic', protocol, ...unlessEverywhere(settings.listenIp), destinationPort }
    const rulesByOutcome: Readonly<Record<Outcome['kind'], Rule>> = {
      forward: { matches: [comment(`${name} proxy port`), traffic, came], target: { kind: 'reject' } },
      reject: { matches: [comment(`${name} has no endpoints`), traffic], target: { kind: 'reject' } },
      drop: { matches: [comment(`${name} has no local endpoints`), traffic], target: { kind: 'drop' } },
    }
    return [{ table: 'filter', chain: portalChains.ports, rule: rulesByOutcome[door.outcome.kind] }]
  })
}

/** Health checks of load balancers must pass whatever the rest of the firewall says. They are always TCP. */
function healthCheckRules({ route }: Portal): readonly SharedRule[] {
  if (route.healthCheckNodePort === undefined) return []
  const matches: readonly Match[] = [
    comment(`${routeName(route)} health check node port`),
    { kind: 'traffic', protocol: 'TCP', destinationPort: route.healthCheckNodePort },
  ]
  return [{ table: 'filter', chain: portalChains.ports, rule: { matches, target: { kind: 'accept' } } }]
}

/** For packets that arrive: from pods, and from outside. */
function fromElsewhere(portal: Portal, chain: string, matches: readonly Match[], door: Door) {
  const { listenIp } = portal.settings
  return leading(portal, chain, matches, door, (port) =>
    isUnspecified(listenIp) ? { kind: 'redirect', port } : { kind: 'dnat', address: hostPort(listenIp, port) },
  )
}

/** For what the node itself sends. REDIRECT would lead to loopback, and an answer over UDP come from elsewhere. */
function fromHost(portal: Portal, chain: string, matches: readonly Match[], door: Door) {
  const { hostIp } = portal.settings
  return leading(portal, chain, matches, door, (port) => ({ kind: 'dnat', address: hostPort(hostIp, port) }))
}

function leading(
  { route, ports }: Portal,
  chain: string,
  matches: readonly Match[],
  door: Door,
  target: (port: number) => Target,
): readonly SharedRule[] {
  const port = ports.byDoor[doorName(door)]
  if (port === undefined) return []
  return [{ table: 'nat', chain, rule: { matches: [comment(routeName(route)), ...matches], target: target(port) } }]
}

function addressed({ route }: Portal, { ip, port }: AddressEntrance): Match {
  return { kind: 'traffic', protocol: route.protocol, destination: ip, destinationPort: port }
}

function unlessEverywhere(ip: string): { readonly destination?: string } {
  return isUnspecified(ip) ? {} : { destination: ip }
}
