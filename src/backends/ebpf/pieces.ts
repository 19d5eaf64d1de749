/** What the tables hold for one route, piece by piece. */
import type { PlannedPiece } from '../../core/inspection.ts'
import type { PlannedEndpoint, PlannedFrontend, SocketRoute } from './frontends-of.ts'
import { listNames, nameOf } from './frontends-of.ts'
import { listBits } from './layout.ts'
import { frontendLine } from './render.ts'

/** The frontends, then the endpoints. What is left to the packets has none. */
export function socketPieces(route: SocketRoute): readonly PlannedPiece[] {
  if (route.frontends.length === 0) return []
  return [
    ...route.frontends.map((frontend) => frontendPiece(route, frontend)),
    ...route.endpoints.map((endpoint) => endpointPiece(route, endpoint)),
  ]
}

function frontendPiece(route: SocketRoute, planned: PlannedFrontend): PlannedPiece {
  const { frontend, list } = planned
  const { port } = frontend
  return {
    kind: 'frontend',
    where: 'bpf map frontends',
    text: frontendLine(route, planned, route.lists[list]),
    entrance: frontend.scope === 'address' ? { ip: frontend.ip, port } : { port },
  }
}

function endpointPiece(route: SocketRoute, { address, lists }: PlannedEndpoint): PlannedPiece {
  return { kind: 'endpoint', where: 'bpf map endpoints', text: endpointLine(route, address, lists), endpoint: address }
}

/** `10.64.1.16:8080 of shop/web:http, for internal and external` */
export function endpointLine(route: Pick<SocketRoute, 'key'>, address: string, lists: number): string {
  const names = listNames.filter((list) => (lists & listBits[list]) !== 0)
  return `${address} of ${nameOf(route)}, ${names.length === 0 ? 'for nobody new' : `for ${names.join(' and ')}`}`
}
