import type { RouteTraffic } from '../../core/backend.ts'

const nothing: RouteTraffic = {
  connections: 0,
  active: 0,
  bytesIn: 0,
  bytesOut: 0,
  dialFailures: 0,
  seconds: 0,
  turnedAway: {},
}

/** What several listeners have carried together. */
export function addTraffic(...parts: readonly (RouteTraffic | undefined)[]): RouteTraffic {
  return parts.reduce<RouteTraffic>((total, part) => (part === undefined ? total : sumOf(total, part)), nothing)
}

function sumOf(a: RouteTraffic, b: RouteTraffic): RouteTraffic {
  return {
    connections: a.connections + b.connections,
    active: a.active + b.active,
    bytesIn: a.bytesIn + b.bytesIn,
    bytesOut: a.bytesOut + b.bytesOut,
    dialFailures: a.dialFailures + b.dialFailures,
    seconds: a.seconds + b.seconds,
    turnedAway: Object.fromEntries(
      Object.keys({ ...a.turnedAway, ...b.turnedAway }).map((reason) => [
        reason,
        (a.turnedAway[reason] ?? 0) + (b.turnedAway[reason] ?? 0),
      ]),
    ),
  }
}
