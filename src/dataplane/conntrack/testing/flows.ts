/** Flows for tests. */
import type { Flow, FlowDirection } from '../../../core/sync/stale-flows.ts'

export interface FlowAddresses {
  readonly client: string
  /** The destination of the client. */
  readonly service: string
  /** The source of the reply. */
  readonly endpoint: string
  readonly protocol?: number
}

/** All addresses are `ip:port`, with brackets around IPv6. */
export function testFlow({ client, service, endpoint, protocol = 17 }: FlowAddresses): Flow {
  return { protocol, original: direction(client, service), reply: direction(endpoint, client) }
}

export function address(text: string): { readonly ip: string; readonly port: number } {
  const colon = text.lastIndexOf(':')
  return { ip: text.slice(0, colon).replace(/[[\]]/g, ''), port: Number(text.slice(colon + 1)) }
}

function direction(from: string, to: string): FlowDirection {
  const [source, destination] = [address(from), address(to)]
  return {
    sourceIp: source.ip,
    sourcePort: source.port,
    destinationIp: destination.ip,
    destinationPort: destination.port,
  }
}
