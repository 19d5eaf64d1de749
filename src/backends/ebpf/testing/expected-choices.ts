/** What sockets of this node may get, worked out from the Routes alone. */
import type { NodeView } from '../../../core/backend.ts'
import type { Outcome } from '../../../core/route.ts'
import type { SocketClient } from './hook-model.ts'

/** By `ip port protocol`. An address that nobody names is missing: no hook may touch it. */
export type Expected = ReadonlyMap<string, { readonly client: SocketClient; readonly outcome: Outcome }>

export function expectedChoices({ routesByKey }: NodeView, nodeIps: readonly string[]): Expected {
  const expected = new Map<string, { readonly client: SocketClient; readonly outcome: Outcome }>()
  for (const { protocol, entrances } of routesByKey.values()) {
    if (protocol === 'SCTP') continue
    for (const entrance of entrances)
      for (const ip of entrance.kind === 'node-port' ? nodeIps : [entrance.ip]) {
        const client = { ip, port: entrance.port, protocol, isInHostNetns: false, now: 0n }
        const text = `${ip} ${entrance.port} ${protocol}`
        if (!expected.has(text)) expected.set(text, { client, outcome: entrance.inside })
      }
  }
  return expected
}
