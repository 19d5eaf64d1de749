/** What the relay holds for one route, piece by piece: its listeners, and the endpoints behind them. */
import { thereOrMissing } from '../../core/inspect-pieces.ts'
import type { Look } from '../../core/inspect-pieces.ts'
import type { PlannedPiece } from '../../core/inspection.ts'
import { hostPort } from '../../net/ip.ts'
import { describeEndpoint, describeListener } from './describe-listener.ts'
import type { PlannedListener, RoutePlan } from './plan.ts'

export interface ListenerPieces {
  readonly listener: PlannedListener
  readonly piece: PlannedPiece
}

/** `portOf`: where it does listen; undefined: nobody knows, or it does not. */
export function listenerPieces(
  { listeners }: RoutePlan,
  portOf: (listener: PlannedListener) => number | undefined = () => undefined,
): readonly ListenerPieces[] {
  const places = listeners.map((listener) => ({
    listener,
    piece: {
      kind: 'listener',
      where: `relay ${listener.protocol}`,
      text: describeListener(listener, portOf(listener) ?? listener.ports[0]),
    },
  }))
  // Listeners of one pool share its endpoints.
  const firstOfPools = new Map(listeners.toReversed().map((listener) => [listener.pool.id, listener]))
  const endpoints = [...firstOfPools.values()].reverse().flatMap((listener) =>
    listener.pool.endpoints.map((endpoint) => ({
      listener,
      piece: {
        kind: 'endpoint',
        where: `pool ${listener.pool.id}`,
        text: describeEndpoint(endpoint),
        endpoint: hostPort(endpoint.ip, endpoint.port),
      },
    })),
  )
  return [...places, ...endpoints]
}

export function listenersLook(plan: RoutePlan, portOf: (listener: PlannedListener) => number | undefined): Look {
  const pieces = listenerPieces(plan, portOf)
  return {
    pieces: pieces.map(({ piece }) => piece),
    compare: async () => pieces.map(({ listener, piece }) => thereOrMissing(piece, portOf(listener) !== undefined)),
  }
}
