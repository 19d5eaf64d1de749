/** From what people write to a question. */
import type { Protocol } from '../../api/records.ts'
import { parseIp } from '../../net/ip.ts'
import type { AskedProtocol, From, Question, Target } from './explanation.ts'

export interface AskedTexts {
  /** `10.96.0.10:53/udp`, `[fd00::a]:80`, `10.96.0.10/icmp`, `service/web`, `node-port 30080`. */
  readonly target: string
  /** `outside`, `host`, `pod` or an IP address; empty: not said. */
  readonly from: string
  readonly namespace: string
  /** Of a Service, by name or number; empty: all. */
  readonly port: string
}

export type ParsedQuestion =
  { readonly ok: true; readonly question: Question } | { readonly ok: false; readonly problem: string }

export function parseQuestion(texts: AskedTexts): ParsedQuestion {
  const target = parseTarget(texts)
  if (typeof target === 'string') return { ok: false, problem: target }
  const from = parseFrom(texts.from)
  if (typeof from === 'string') return { ok: false, problem: from }
  if (target.kind !== 'service' && texts.port !== '')
    return { ok: false, problem: '--port is for a Service: an address and a node port name their port themselves' }
  return { ok: true, question: { target, from } }
}

const howToAsk = 'ask for IP:PORT[/tcp|udp|sctp], service/NAME or node-port NUMBER[/udp]'

/** A sentence where it cannot be read. */
function parseTarget({ target, namespace, port }: AskedTexts): Target | string {
  const text = target.trim()
  if (text === '') return howToAsk
  const service = /^(?:service|services|svc)[/ ](.+)$/i.exec(text)?.[1]
  if (service !== undefined) return parseService(service.trim(), namespace, port)
  const nodePort = /^(?:node-?port)[/ :](.+)$/i.exec(text)?.[1]
  if (nodePort !== undefined) return parseNodePort(nodePort.trim())
  return parseAddress(text)
}

function parseService(text: string, namespace: string, port: string): Target | string {
  const [first = '', second, ...more] = text.split('/')
  const [ownNamespace, nameAndPort] = second === undefined ? [namespace, first] : [first, second]
  const [name = '', ownPort = ''] = nameAndPort.split(':')
  if (more.length > 0 || name === '' || ownNamespace === '')
    return `"${text}" is no Service: write service/NAME, and its namespace with -n`
  if (port !== '' && ownPort !== '' && port !== ownPort)
    return `"${text}" names port ${ownPort}, and --port names ${port}: leave one of them out`
  return { kind: 'service', namespace: ownNamespace, name, port: ownPort || port || undefined }
}

function parseNodePort(text: string): Target | string {
  const [number = '', protocolText = 'tcp'] = text.split('/')
  const port = parsePort(number)
  if (port === undefined) return `"${number}" is no port: a node port is a number between 1 and 65535`
  const protocol = parseProtocol(protocolText)
  if (protocol === undefined || protocol === 'ICMP') return unknownProtocol(protocolText)
  return { kind: 'node-port', port, protocol }
}

function parseAddress(text: string): Target | string {
  const slash = text.lastIndexOf('/')
  const [address, protocolText] = slash < 0 ? [text, 'tcp'] : [text.slice(0, slash), text.slice(slash + 1)]
  const protocol = parseProtocol(protocolText)
  if (protocol === undefined) return unknownProtocol(protocolText)
  const alone = parseIp(address.replace(/^\[(.*)\]$/, '$1'))
  if (alone !== undefined)
    return protocol === 'ICMP'
      ? { kind: 'address', ip: alone, port: 0, protocol }
      : `"${text}" has no port: write ${alone.includes(':') ? `[${alone}]` : alone}:PORT, or ${address}/icmp for a ping`
  const [, host = '', portText = ''] = /^(.*):([^:\]]*)$/.exec(address) ?? []
  const ip = parseIp(host.replace(/^\[(.*)\]$/, '$1'))
  if (ip === undefined) return `"${text}" is no address: ${howToAsk}`
  if (ip.includes(':') && !host.startsWith('[')) return `"${text}" is ambiguous: write [${ip}]:${portText}`
  const port = parsePort(portText)
  if (port === undefined) return `"${portText}" is no port: a port is a number between 1 and 65535`
  return protocol === 'ICMP'
    ? `a ping has no port: ask for ${host}/icmp`
    : { kind: 'address', ip, port, protocol: protocol satisfies Protocol }
}

function parseFrom(text: string): From | string {
  const from = text.trim()
  if (from === '') return { kind: 'unsaid' }
  if (from === 'outside' || from === 'host' || from === 'pod') return { kind: from }
  const ip = parseIp(from.replace(/^\[(.*)\]$/, '$1'))
  return ip === undefined
    ? `--from=${from} is not known: use outside, host, pod, or the IP address of a client`
    : { kind: 'ip', ip }
}

function parsePort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  return port >= 1 && port <= 65_535 ? port : undefined
}

function parseProtocol(text: string): AskedProtocol | undefined {
  return (['TCP', 'UDP', 'SCTP', 'ICMP'] as const).find((protocol) => protocol === text.toUpperCase())
}

function unknownProtocol(text: string): string {
  return `"${text}" is no protocol: use tcp, udp or sctp`
}
