/** Everything one route needs from HNS, worked out from that route alone. Endpoints are addresses still. */
import type { Endpoint, Entrance, Outcome, Route } from '../../core/route.ts'
import { loadBalancerFlags, mappingFlags } from '../../dataplane/hcn/hcn.ts'
import { frontendOf } from '../../dataplane/hcn/load-balancer-content.ts'
import type { Frontend } from './owned-names.ts'
import { isOverlay } from './settings.ts'
import type { KernelspaceSettings } from './settings.ts'

export interface RoutePlan {
  readonly name: string
  /** IANA number. */
  readonly protocol: number
  readonly isSticky: boolean
  /** In the order to create them. */
  readonly balancers: readonly PlannedBalancer[]
  /** In an overlay network the cluster IP has an endpoint, too. */
  readonly vipEndpoint: string | undefined
  /** The Service wants its load balancers deleted and made anew when endpoints change. */
  readonly rebuilds: boolean
  /** It has source ranges, which HNS cannot enforce. */
  readonly isOpenToAll: boolean
}

export interface PlannedBalancer {
  readonly frontend: Frontend
  readonly kind: BalancerKind
  readonly vip: string | undefined
  readonly externalPort: number
  readonly mappingFlags: number
  readonly flags: number
  readonly pool: Pool
}

/** In the order of precedence, where two routes want the same frontend. */
export const balancerKinds = ['cluster-ip', 'node-port', 'external-ip', 'load-balancer-ip', 'health-check'] as const
type BalancerKind = (typeof balancerKinds)[number]

export type Pool =
  /** Those that HNS has, and those elsewhere, for which it gets an endpoint. */
  | { readonly kind: 'all'; readonly backends: readonly Backend[] }
  /** Only those whose HNS endpoint is a local one. */
  | { readonly kind: 'here'; readonly backends: readonly Backend[] }
  /** The host itself. */
  | { readonly kind: 'root' }

/** `isLocal` is what the slices say. HNS may know better. */
export type Backend = Pick<Endpoint, 'ip' | 'port' | 'address' | 'isLocal'>

export function planRoute(route: Route, settings: KernelspaceSettings): RoutePlan {
  const isClosed = ({ allowed }: Entrance) => allowed?.ranges.length === 0 && allowed.ownAddresses.length === 0
  const open = route.entrances.filter((entrance) => !isClosed(entrance))
  return {
    name: `${route.namespace}/${route.name}`,
    protocol: protocolNumbers[route.protocol],
    isSticky: route.affinitySeconds !== undefined,
    balancers: plannedBalancers(route, open, settings),
    vipEndpoint: isOverlay(settings) ? route.clusterIP : undefined,
    rebuilds: route.windows?.rebuilds === true,
    isOpenToAll: open.some(({ allowed }) => allowed !== undefined),
  }
}

/** All addresses that matter to the route: when HNS gets or loses an endpoint for one of them, it is looked at again. */
export function ipsOf({ balancers, vipEndpoint }: RoutePlan): ReadonlySet<string> {
  const ips = new Set(vipEndpoint === undefined ? [] : [vipEndpoint])
  for (const pool of poolsOf(balancers)) for (const { ip } of backendsOf(pool)) ips.add(ip)
  return ips
}

/** Whether the route uses an endpoint for the address, wherever that is. */
export function needsEndpoint({ balancers, vipEndpoint }: RoutePlan, ip: string): boolean {
  if (ip === vipEndpoint) return true
  return [...poolsOf(balancers)].some((pool) => pool.kind === 'all' && pool.backends.some((it) => it.ip === ip))
}

export function poolsOf(balancers: readonly PlannedBalancer[]): ReadonlySet<Pool> {
  return new Set(balancers.map(({ pool }) => pool))
}

export function backendsOf(pool: Pool): readonly Backend[] {
  return pool.kind === 'root' ? [] : pool.backends
}

const protocolNumbers: Readonly<Record<Route['protocol'], number>> = { TCP: 6, UDP: 17, SCTP: 132 }

/** Each frontend once: an address that is listed twice counts as what it was first. */
function plannedBalancers(
  route: Route,
  entrances: readonly Entrance[],
  settings: KernelspaceSettings,
): readonly PlannedBalancer[] {
  const ofEntrance = planner(route, settings)
  const byFrontend = new Map<Frontend, PlannedBalancer>()
  const inOrder = entrances.toSorted((a, b) => balancerKinds.indexOf(a.kind) - balancerKinds.indexOf(b.kind))
  for (const balancer of inOrder.flatMap(ofEntrance))
    if (!byFrontend.has(balancer.frontend)) byFrontend.set(balancer.frontend, balancer)
  return [...byFrontend.values()]
}

function planner(route: Route, settings: KernelspaceSettings): (entrance: Entrance) => readonly PlannedBalancer[] {
  const { features, family, enableDsr } = settings
  const protocol = protocolNumbers[route.protocol]
  const familyFlag = family === 'ipv6' ? loadBalancerFlags.ipv6 : 0
  const poolOf = pools(route)
  const keepsClient = features.dsr && route.external?.outside.policy === 'Local'
  const preserves = features.dsr && route.windows?.preservesDestination === true

  const balancer = (
    place: Pick<PlannedBalancer, 'kind' | 'vip' | 'externalPort' | 'mappingFlags' | 'pool'>,
    isDsr: boolean,
  ): PlannedBalancer => {
    const flags = familyFlag | (isDsr ? loadBalancerFlags.dsr : 0)
    const frontend = frontendOf({ ...place, protocol, flags }) as Frontend
    return { ...place, frontend, flags }
  }

  return (entrance) => {
    const { kind, port: externalPort } = entrance
    // Without direct server return HNS cannot keep the client's address, so policy Local behaves like Cluster, as it does
    // for clients inside.
    const outcome = kind === 'cluster-ip' || features.dsr ? entrance.outside : entrance.inside
    const pool = poolOf(outcome)
    if (pool.backends.length === 0) return []
    const vip = 'ip' in entrance ? entrance.ip : undefined
    const place = { kind, vip, externalPort, pool }
    switch (entrance.kind) {
      case 'cluster-ip':
        return [balancer({ ...place, mappingFlags: 0 }, enableDsr)]
      case 'node-port':
        return [
          balancer({ ...place, mappingFlags: mappingFlags.localRoutedVip | mappingFlags.vipExternalIp }, keepsClient),
        ]
      case 'external-ip':
        return [balancer({ ...place, mappingFlags: mappingFlags.vipExternalIp }, keepsClient)]
      case 'load-balancer-ip': {
        const preserving = preserves ? mappingFlags.useMux | mappingFlags.preserveDip : 0
        const traffic = balancer(
          { ...place, mappingFlags: mappingFlags.vipExternalIp | preserving },
          keepsClient || preserves,
        )
        const healthPort = healthCheckPort(route, outcome, settings)
        if (healthPort === undefined) return [traffic]
        const health = { kind: 'health-check', vip, externalPort: healthPort, pool: rootPool } as const
        return [traffic, balancer({ ...health, mappingFlags: preserving }, false)]
      }
      default:
        return entrance satisfies never
    }
  }
}

const rootPool: Pool = { kind: 'root' }

/** While only endpoints are left that end, the health check shall fail, so that clients are sent elsewhere. */
function healthCheckPort(route: Route, outcome: Outcome, settings: KernelspaceSettings): number | undefined {
  if (!settings.forwardHealthCheckVip) return undefined
  const isAvailable = outcome.kind === 'forward' && outcome.to.some(({ ready, terminating }) => ready && !terminating)
  return isAvailable ? (route.healthCheckNodePort ?? settings.healthzPort) : undefined
}

/** Entrances with the same outcome share a pool. */
function pools({ endpoints }: Route): (outcome: Outcome) => Exclude<Pool, { kind: 'root' }> {
  const poolsByOutcome = new Map<Outcome, Exclude<Pool, { kind: 'root' }>>()
  const make = (outcome: Outcome) => {
    const to: readonly Backend[] = outcome.kind === 'forward' ? outcome.to : []
    if (outcome.policy === 'Cluster') return { kind: 'all', backends: to } as const
    // A slice need not say where an endpoint is. HNS knows which ones are on this node.
    const perhaps = endpoints.filter(({ isLocal, ready, serving }) => !isLocal && ready && serving)
    return { kind: 'here', backends: perhaps.length === 0 ? to : [...to, ...perhaps].sort(byAddress) } as const
  }
  return (outcome) => {
    let pool = poolsByOutcome.get(outcome)
    if (pool === undefined) poolsByOutcome.set(outcome, (pool = make(outcome)))
    return pool
  }
}

function byAddress(left: Backend, right: Backend): number {
  return left.address < right.address ? -1 : 1
}
