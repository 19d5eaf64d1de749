/** One ICMP echo request through the kernel's own ping sockets: not every machine has `ping`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { familyOf } from '../../../src/net/ip.ts'
import { KernelSocket } from './kernel-socket.ts'
import type { Namespace } from './namespace.ts'

export interface EchoRequest {
  readonly ip: string
  readonly source?: string
  readonly patienceMs: number
}

const kinds = {
  ipv4: { family: 'ipv4', type: 'datagrams', protocol: 1 },
  ipv6: { family: 'ipv6', type: 'datagrams', protocol: 58 },
} as const
const echoRequests = { ipv4: 8, ipv6: 128 } as const

/** 0 for an echo, an errno for an answer that says no, undefined when nobody answers. */
export async function sendEcho(
  client: Namespace,
  { ip, source, patienceMs }: EchoRequest,
): Promise<number | undefined> {
  const family = familyOf(ip) === 'ipv6' ? 'ipv6' : 'ipv4'
  client.setSysctl('ipv4.ping_group_range', '0 2147483647')
  using socket = new KernelSocket(client, kinds[family])
  if (source !== undefined) socket.bind(source)
  socket.connect(ip)
  const request = Buffer.alloc(16)
  request[0] = echoRequests[family]
  socket.send(request)
  const deadline = performance.now() + patienceMs
  while (performance.now() < deadline) {
    const answer = socket.receive()
    if (answer !== undefined) return typeof answer === 'number' ? answer : 0
    await sleep(5)
  }
  return undefined
}
