/** Compares what HNS holds for one route with what was planned. Asks for the objects of the route, and for one list. */
import { inspectPieces, thereOrMissing } from '../../core/inspect-pieces.ts'
import type { InspectedPiece, Inspection } from '../../core/inspection.ts'
import type { Hcn } from '../../dataplane/hcn/hcn.ts'
import { contentOf } from '../../dataplane/hcn/load-balancer-content.ts'
import { endpointAt } from './endpoint-table.ts'
import type { Written } from './held.ts'
import { renderBalancer } from './pieces.ts'
import type { BalancerPiece, RoutePieces } from './pieces.ts'

type Door = Pick<Hcn, 'loadBalancer' | 'loadBalancerSummaries' | 'endpoint'>

export function inspectRoute(
  { balancers, endpoints }: RoutePieces,
  written: Written,
  hcn: Door,
  signal: AbortSignal,
): Promise<Inspection> {
  const looks = [
    {
      pieces: balancers.map(({ piece }) => piece),
      async compare(comparing: AbortSignal) {
        const degraded = new Set(
          (await hcn.loadBalancerSummaries(comparing)).filter(({ isDegraded }) => isDegraded).map(({ id }) => id),
        )
        const compared: InspectedPiece[] = []
        for (const balancer of balancers)
          compared.push(await compareBalancer(balancer, written, { hcn, degraded }, comparing))
        return compared
      },
    },
    {
      pieces: endpoints.map(({ piece }) => piece),
      async compare(comparing: AbortSignal) {
        const compared: InspectedPiece[] = []
        for (const { ip, piece } of endpoints) {
          const id = endpointAt(written.table, ip)?.id
          const found = id === undefined ? undefined : await hcn.endpoint(id, comparing)
          compared.push(thereOrMissing(piece, found?.ips.includes(ip) === true))
        }
        return compared
      },
    },
  ]
  return inspectPieces(looks, signal)
}

async function compareBalancer(
  { frontend, settings, piece }: BalancerPiece,
  written: Written,
  { hcn, degraded }: { readonly hcn: Door; readonly degraded: ReadonlySet<string> },
  signal: AbortSignal,
): Promise<InspectedPiece> {
  const id = written.held.get(frontend)?.id
  const found = id === undefined ? undefined : await hcn.loadBalancer(id, signal)
  if (found === undefined) return { ...piece, state: 'missing' }
  const isDegraded = degraded.has(found.id)
  if (contentOf(found) === contentOf(settings) && !isDegraded) return { ...piece, state: 'as planned' }
  const text = renderBalancer(found, written)
  return { ...piece, state: 'differs', found: isDegraded ? `degraded, so nothing is forwarded: ${text}` : text }
}
