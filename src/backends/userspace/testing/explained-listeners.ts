/** Which listeners of a relay, and which endpoints behind them, belong to no route. */
import type { PlannedPiece } from '../../../core/inspection.ts'
import type { MemoryRelay } from '../../../dataplane/relay/testing/memory-relay.ts'
import { hostPort } from '../../../net/ip.ts'
import { describeEndpoint } from '../describe-listener.ts'

export function unexplainedListeners({ listeners }: MemoryRelay, pieces: readonly PlannedPiece[]): readonly string[] {
  const addresses = new Set(
    pieces.flatMap(({ kind, where, text }) => (kind === 'listener' ? [`${where} ${text.split(' ')[1]}`] : [])),
  )
  const endpoints = new Set(pieces.map(({ where, text }) => `${where}: ${text}`))
  return listeners.flatMap(({ protocol, address, pool }) => [
    ...[`relay ${protocol} ${hostPort(address.ip, address.port)}`].filter((line) => !addresses.has(line)),
    ...pool.endpoints
      .map((endpoint) => `pool ${pool.id}: ${describeEndpoint(endpoint)}`)
      .filter((line) => !endpoints.has(line)),
  ])
}
