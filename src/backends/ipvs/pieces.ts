/** What the kernel holds for one route, piece by piece. */
import type { PlannedPiece } from '../../core/inspection.ts'
import type { RouteKey } from '../../core/route.ts'
import { rulePieces } from '../../dataplane/iptables/language/rule-pieces.ts'
import type { RulePieces } from '../../dataplane/iptables/language/rule-pieces.ts'
import { setName } from './ip-sets.ts'
import { ipvsLink } from './ipvs-link.ts'
import type { IpvsPlan } from './plan.ts'
import type { PlannedServer, ServerId } from './planned-server.ts'
import { renderLinkAddress, renderRealServer, renderServer } from './render.ts'
import { ipvsChains } from './top-chains.ts'

export interface RoutePieces {
  readonly servers: readonly ServerPieces[]
  readonly addresses: readonly { readonly ip: string; readonly piece: PlannedPiece }[]
  readonly entries: readonly { readonly set: string; readonly entry: string; readonly piece: PlannedPiece }[]
  /** In filter/KUBE-IPVS-OUT-FILTER. */
  readonly rules: RulePieces
}

export interface ServerPieces {
  readonly server: PlannedServer
  readonly piece: PlannedPiece
  readonly realServers: readonly RealServerPiece[]
}

interface RealServerPiece {
  readonly address: string
  readonly weight: number
  readonly piece: PlannedPiece
}

/** Undefined: there is no such route in the plan. `drainingOf`: endpoints that are gone, but still have connections. */
export function routePieces(
  plan: IpvsPlan,
  key: RouteKey,
  drainingOf: (id: ServerId) => readonly string[] = () => [],
): RoutePieces | undefined {
  const route = plan.routesByKey.get(key)
  if (route === undefined) return undefined
  const { family } = plan.settings
  // Another route may have an address that this one wants, too.
  const servers = route.servers.filter(({ id }) => plan.claimsById.get(id)?.[0]?.key === key)
  const entries = new Map(route.entries.map((entry) => [`${entry.set} ${entry.entry}`, entry]))
  return {
    servers: servers.map((server) => serverPieces(server, drainingOf(server.id))),
    addresses: [...new Set(route.servers.filter(({ isBound }) => isBound).map(({ ip }) => ip))].map((ip) => ({
      ip,
      piece: { kind: 'address', where: `link ${ipvsLink}`, text: renderLinkAddress(ip) },
    })),
    entries: Array.from(entries.values(), ({ set: id, entry }) => {
      const set = setName(id, family)
      return { set, entry, piece: { kind: 'entry', where: `set ${set}`, text: `add ${set} ${entry}` } }
    }),
    rules: rulePieces(
      { shared: route.outRules.map((rule) => ({ table: 'filter', chain: ipvsChains.out, rule })), chains: [] },
      family,
    ),
  }
}

function serverPieces(server: PlannedServer, draining: readonly string[]): ServerPieces {
  const where = `virtual server ${server.id}`
  const realServer = (kind: string, address: string, weight: number) => ({
    address,
    weight,
    piece: { kind, where, text: renderRealServer(server, address, weight), endpoint: address },
  })
  return {
    server,
    piece: { kind: 'virtual server', where: 'IPVS', text: renderServer(server) },
    realServers: [
      ...server.endpoints.map(({ address, weight }) => realServer('real server', address, weight)),
      ...draining.map((address) => realServer('draining real server', address, 0)),
    ],
  }
}

export function allPieces({ servers, addresses, entries, rules }: RoutePieces): readonly PlannedPiece[] {
  const ofServers = servers.flatMap((server) => [server, ...server.realServers])
  return [...ofServers, ...addresses, ...entries, ...rules.shared].map(({ piece }) => piece)
}
