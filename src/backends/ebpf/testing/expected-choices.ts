/** What sockets of this node may get, worked out from the Routes alone. */
import type { NodeView } from '../../../core/backend.ts'
import type { Entrance, Outcome } from '../../../core/route.ts'
import { isLoopback } from '../../../net/ip.ts'
import type { SocketClient } from './hook-model.ts'

interface ExpectedChoice {
  readonly client: SocketClient
  readonly outcome: Outcome
  /** To the packets, whatever the outcome is: these know the source of a client, and remember clients. */
  readonly isLeft: boolean
}

/** By `ip port protocol`. An address that nobody names is missing: no hook may touch it. */
export type Expected = ReadonlyMap<string, ExpectedChoice>

/** Node ports are asked for on loopback, too, by the node itself. */
export function expectedChoices({ family, routesByKey }: NodeView, nodeIps: readonly string[]): Expected {
  const expected = new Map<string, ExpectedChoice>()
  const nodePortIps = [...nodeIps, family === 'ipv4' ? '127.0.0.1' : '::1']
  for (const { protocol, entrances, affinitySeconds, traffic } of routesByKey.values()) {
    if (protocol === 'SCTP') continue
    const goesBySource = traffic?.algorithm === 'source-hash' || traffic?.algorithm === 'maglev'
    const isCounted = traffic?.maxConnections !== undefined || traffic?.maxDialsPerSecond !== undefined
    const isLimited = isCounted || traffic?.maxConnectionAgeMs !== undefined
    const isRestricted = (ip: string, port: number) =>
      entrances.some((other: Entrance) => 'ip' in other && other.ip === ip && other.port === port && other.allowed)
    for (const entrance of entrances)
      for (const ip of entrance.kind === 'node-port' ? nodePortIps : [entrance.ip]) {
        const { port, inside: outcome } = entrance
        const client = { ip, port, protocol, isInHostNetns: isLoopback(ip), now: 0n }
        const isForPackets = goesBySource || isLimited || isRestricted(ip, port)
        const isLeft = isForPackets || (affinitySeconds !== undefined && !isLoopback(ip))
        const text = `${ip} ${port} ${protocol}`
        if (!expected.has(text)) expected.set(text, { client, outcome, isLeft })
      }
  }
  return expected
}
