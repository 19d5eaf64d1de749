/** A client that always comes from the same port, as those behind a NAT or in a hurry do. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { parseAnswer } from '../../../packet/testing/echo-server.ts'
import type { Namespace } from '../../../packet/testing/namespace.ts'

export interface FixedPortQuestion {
  readonly ip: string
  readonly port: number
  readonly localPort: number
}

/** Who answers; rejects when nobody does. The port is free again afterwards. */
export async function askFromPort(client: Namespace, { ip, port, localPort }: FixedPortQuestion): Promise<string> {
  // For an address Node makes the socket a moment later, for a name within the lookup: so it gets a name.
  const socket = client.enter(() =>
    connect({ host: 'service', port, family: 4, localPort, lookup: (_host, _options, found) => found(null, ip, 4) }),
  )
  // A pod that closes first has the wait that follows; the client's port is not held up.
  const closed = once(socket, 'close')
  const answer = await text(socket)
  await closed
  return parseAnswer(answer).answeredBy
}

/** How often the client's kernel had to ask again for a connection, because the first packet was lost. */
export function repeatedSyns(client: Namespace): number {
  const [names = [], values = []] = client
    .enter(() => readFileSync('/proc/thread-self/net/netstat', 'utf8'))
    .split('\n')
    .filter((line) => line.startsWith('TcpExt:'))
    .map((line) => line.split(' '))
  return Number(values[names.indexOf('TCPSynRetrans')])
}
