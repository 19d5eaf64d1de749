/** What HNS holds for one route, piece by piece. Only HNS knows ids, so they are names here: `<endpoint 10.61.2.7>`. */
import type { PlannedPiece } from '../../core/inspection.ts'
import type { RouteKey } from '../../core/route.ts'
import { renderLoadBalancer } from '../../dataplane/hcn/documents.ts'
import type { LoadBalancerSettings } from '../../dataplane/hcn/hcn.ts'
import type { Frontend } from './owned-names.ts'
import type { KernelspacePlan } from './plan.ts'
import { endpointIdsOf, settingsOf, wantedAt } from './resolve.ts'
import type { Surroundings } from './resolve.ts'
import { backendsOf, ipsOf, needsEndpoint, poolsOf } from './route-plan.ts'
import type { RoutePlan } from './route-plan.ts'

export interface RoutePieces {
  readonly balancers: readonly BalancerPiece[]
  readonly endpoints: readonly { readonly ip: string; readonly piece: PlannedPiece }[]
}

export interface BalancerPiece {
  readonly frontend: Frontend
  readonly settings: LoadBalancerSettings
  readonly piece: PlannedPiece
}

/** Undefined: there is no such route in the plan. */
export function routePieces(plan: KernelspacePlan, key: RouteKey, around: Surroundings): RoutePieces | undefined {
  const route = plan.routesByKey.get(key)
  if (route === undefined) return undefined
  const balancers = route.balancers.flatMap(({ frontend, kind }) => {
    // Another route may have a frontend that this one wants, too. The ports of a Service share their health check.
    const isOurs = kind === 'health-check' || plan.claimsByFrontend.get(frontend)?.[0]?.key === key
    const wanted = isOurs ? wantedAt(plan, frontend, around) : undefined
    if (wanted === undefined) return []
    const settings = settingsOf(wanted, endpointIdsOf(wanted, around.table))
    const text = renderBalancer(settings, around)
    return { frontend, settings, piece: { kind: 'load balancer', where: `frontend ${frontend}`, text } }
  })
  return { balancers, endpoints: endpointPieces(plan, route, around) }
}

export function allPieces({ balancers, endpoints }: RoutePieces): readonly PlannedPiece[] {
  return [...balancers, ...endpoints].map(({ piece }) => piece)
}

/** The document that HNS is sent. */
export function renderBalancer(settings: LoadBalancerSettings, { table, root }: Surroundings): string {
  const nameOf = (id: string) => {
    const endpoint = table.byId.get(id) ?? (root?.id === id ? root : undefined)
    return `<endpoint ${endpoint?.ips[0] ?? endpoint?.name ?? id}>`
  }
  return readable(renderLoadBalancer({ ...settings, endpoints: settings.endpoints.map(nameOf).sort() }))
}

/** Documents escape what HTML would not like; here it would only make names hard to read. */
export function readable(document: string): string {
  return document.replaceAll('\\u003c', '<').replaceAll('\\u003e', '>')
}

function endpointPieces({ settings }: KernelspacePlan, route: RoutePlan, { table }: Surroundings) {
  const backends = [...poolsOf(route.balancers)].flatMap(backendsOf)
  const isUsed = (ip: string) => needsEndpoint(route, ip) || table.byIp.has(ip)
  // A pod in the network of the host has none.
  const isNowhere = (ip: string) => !table.byIp.has(ip) && backends.some((it) => it.ip === ip && it.isLocal)
  return [...ipsOf(route)]
    .filter((ip) => isUsed(ip) && !isNowhere(ip))
    .map((ip) => {
      const piece = { kind: 'endpoint', where: `network ${settings.network.name}`, text: `<endpoint ${ip}>` }
      const address = backends.find((backend) => backend.ip === ip)?.address
      return { ip, piece: address === undefined ? piece : { ...piece, endpoint: address } }
    })
}
