/** From what a route needs to load balancers for the endpoints that HNS has or shall get. */
import type { RouteKey } from '../../core/route.ts'
import type { HcnEndpoint, LoadBalancerSettings } from '../../dataplane/hcn/hcn.ts'
import { endpointAt } from './endpoint-table.ts'
import type { EndpointTable } from './endpoint-table.ts'
import type { Network } from './network.ts'
import type { Frontend } from './owned-names.ts'
import type { KernelspacePlan } from './plan.ts'
import { poolsOf } from './route-plan.ts'
import type { Backend, PlannedBalancer, Pool, RoutePlan } from './route-plan.ts'
import { isOverlay } from './settings.ts'
import type { KernelspaceSettings } from './settings.ts'

/** What HNS has, where it shapes a load balancer. */
export interface Surroundings {
  readonly network: Network
  readonly table: EndpointTable
  /** Of the host, for health checks. */
  readonly root: HcnEndpoint | undefined
}

/** A load balancer whose endpoints are known by their addresses, because some may have to be made. */
export interface Wanted extends Omit<LoadBalancerSettings, 'endpoints'> {
  readonly frontend: Frontend
  readonly key: RouteKey
  /** In order, each once. Never empty, unless it leads to the host. */
  readonly ips: readonly string[]
  readonly rootId: string | undefined
  /** Endpoints listen on different ports, and HNS has room for one. */
  readonly hasMixedPorts: boolean
}

/** Undefined: nobody wants the frontend, or nobody can serve there. */
export function wantedAt(plan: KernelspacePlan, frontend: Frontend, around: Surroundings): Wanted | undefined {
  const [claim] = plan.claimsByFrontend.get(frontend) ?? []
  const route = claim && plan.routesByKey.get(claim.key)
  if (claim === undefined || route === undefined) return undefined
  const { key, balancer } = claim
  const { vip, externalPort, mappingFlags, flags, pool, kind } = balancer
  const common = {
    frontend,
    key,
    vip,
    externalPort,
    mappingFlags,
    flags,
    protocol: route.protocol,
    sourceVip: sourceVipOf(route, plan.settings, around),
  }
  if (pool.kind === 'root') {
    if (around.root === undefined) return undefined
    const host = { ips: [], rootId: around.root.id, hasMixedPorts: false }
    return { ...common, ...host, internalPort: externalPort, isSticky: false }
  }
  const backends = usableBackends(pool, around.table)
  const last = backends.at(-1)
  if (last === undefined) return undefined
  return {
    ...common,
    ips: [...new Set(backends.map(({ ip }) => ip))],
    rootId: undefined,
    internalPort: last.port,
    hasMixedPorts: backends.some(({ port }) => port !== last.port),
    isSticky: route.isSticky && kind !== 'health-check',
  }
}

/** Ids of its endpoints, in a fixed order. Those that HNS did not take are left out. */
export function endpointIdsOf({ ips, rootId }: Wanted, table: EndpointTable): readonly string[] {
  if (rootId !== undefined) return [rootId]
  return [...new Set(ips.flatMap((ip) => endpointAt(table, ip)?.id ?? []))].sort()
}

export function settingsOf(wanted: Wanted, endpoints: readonly string[]): LoadBalancerSettings {
  const { sourceVip, vip, protocol, internalPort, externalPort, isSticky, mappingFlags, flags } = wanted
  return { endpoints, sourceVip, vip, protocol, internalPort, externalPort, isSticky, mappingFlags, flags }
}

/** Addresses elsewhere that the balancer forwards to and HNS has no endpoint for. */
export function missingIps({ pool }: PlannedBalancer, { byIp }: EndpointTable): readonly string[] {
  if (pool.kind !== 'all') return []
  return pool.backends.filter(({ ip, isLocal }) => !isLocal && !byIp.has(ip)).map(({ ip }) => ip)
}

/** A pod of this node without an endpoint is in the host's network, where HNS cannot send it anything. */
function usableBackends(pool: Exclude<Pool, { kind: 'root' }>, table: EndpointTable): readonly Backend[] {
  return pool.backends.filter(({ ip, isLocal }) => {
    const endpoint = endpointAt(table, ip)
    if (pool.kind === 'here') return endpoint?.isRemote === false
    return endpoint !== undefined || !isLocal
  })
}

/**
 * Replies must find their way back through this node. Pods answer to the source VIP; other nodes, and machines outside of
 * the overlay, know only the node's own address.
 */
function sourceVipOf(
  { balancers }: RoutePlan,
  settings: KernelspaceSettings,
  { network, table }: Surroundings,
): string | undefined {
  if (!isOverlay(settings)) return undefined
  const isOutsideOverlay = ({ ip, isLocal }: Backend) => {
    if (isLocal || endpointAt(table, ip)?.isRemote === false) return false
    const provider = network.findProvider(ip)
    return provider === undefined || provider === ip
  }
  const leavesOverlay = [...poolsOf(balancers)].some(
    (pool) => pool.kind === 'all' && pool.backends.some(isOutsideOverlay),
  )
  return leavesOverlay ? settings.nodeIp : settings.sourceVip
}
