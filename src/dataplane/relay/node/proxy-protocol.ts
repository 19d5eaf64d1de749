/**
 * The first bytes of a connection that tell the endpoint who the client is, for servers that know the PROXY protocol
 * (https://www.haproxy.org/download/2.6/doc/proxy-protocol.txt).
 */
import { familyOf, ipToBigInt } from '../../../net/ip.ts'
import type { SocketAddress } from '../relay.ts'

export type ProxyProtocol = 'v1' | 'v2'

const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
/** Version 2, command PROXY. */
const proxyCommand = 0x21
const tcpOver = { ipv4: 0x11, ipv6: 0x21 } as const

/** Both addresses are canonical and of one family. */
export function proxyHeader(version: ProxyProtocol, client: SocketAddress, service: SocketAddress): Buffer {
  const family = familyOf(client.ip)
  if (version === 'v1') {
    const name = family === 'ipv4' ? 'TCP4' : 'TCP6'
    return Buffer.from(`PROXY ${name} ${client.ip} ${service.ip} ${client.port} ${service.port}\r\n`)
  }
  const addresses = Buffer.concat([bytesOf(client.ip), bytesOf(service.ip), port(client), port(service)])
  const fixed = Buffer.from([proxyCommand, tcpOver[family], 0, addresses.length])
  return Buffer.concat([signature, fixed, addresses])
}

function bytesOf(ip: string): Buffer {
  const digits = familyOf(ip) === 'ipv4' ? 8 : 32
  return Buffer.from(ipToBigInt(ip).toString(16).padStart(digits, '0'), 'hex')
}

function port(address: SocketAddress): Buffer {
  return Buffer.from([address.port >> 8, address.port & 0xff])
}
