/** What one route has on a Windows node, piece by piece. */
import type { NodeView } from '../../../core/backend.ts'
import type { PlannedPiece } from '../../../core/inspection.ts'
import type { RouteKey } from '../../../core/route.ts'
import { listenerPieces } from '../pieces.ts'
import { addressesOf, planWindowsRoute } from './plan.ts'
import { renderAddress } from './render.ts'
import type { RenderOptions } from './render.ts'

/** Its addresses, then its listeners. */
export function windowsPieces(
  view: NodeView,
  key: RouteKey,
  { interfaceName, nodePortIps }: RenderOptions,
): readonly PlannedPiece[] {
  const route = view.routesByKey.get(key)
  if (route === undefined) return []
  const plan = planWindowsRoute(route, view.node, nodePortIps)
  return [
    ...addressPieces(addressesOf(plan.listeners), interfaceName),
    ...listenerPieces(plan).map(({ piece }) => piece),
  ]
}

export function addressPieces(ips: readonly string[], interfaceName: string): readonly PlannedPiece[] {
  return ips.map((ip) => ({
    kind: 'address',
    where: `interface ${interfaceName}`,
    text: renderAddress(interfaceName, ip),
  }))
}
