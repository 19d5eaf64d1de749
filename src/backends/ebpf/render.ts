/** What clients at the sockets get, as lines that do not depend on where it is in the tables. */
import type { HeldList } from './held.ts'
import { nameOf } from './frontends-of.ts'
import type { PlannedFrontend, PlannedList, SocketRoute } from './frontends-of.ts'

export function renderSockets(routes: Iterable<SocketRoute>): string {
  const lines: string[] = []
  for (const route of routes) {
    for (const frontend of route.frontends) lines.push(frontendLine(route, frontend, route.lists[frontend.list]))
    for (const { id, why } of route.leftToPackets) lines.push(`${id} ${nameOf(route)} left to the packets: ${why}`)
  }
  return lines
    .sort()
    .map((line) => `${line}\n`)
    .join('')
}

/**
 * `10.96.10.10 tcp 80 internal shop/web:http -> 10.64.1.16:8080 10.64.2.9:8080`, or for the node alone
 * `node-port tcp 30080 on loopback external shop/web:http -> 10.64.1.16:8080`
 */
export function frontendLine(
  route: Pick<SocketRoute, 'key'>,
  { id, list, isOnLoopbackOnly }: Pick<PlannedFrontend, 'id' | 'list' | 'isOnLoopbackOnly'>,
  to: PlannedList | HeldList,
): string {
  return `${id}${isOnLoopbackOnly ? ' on loopback' : ''} ${list} ${nameOf(route)} -> ${to.kind === 'endpoints' ? to.addresses.join(' ') : to.kind}`
}
