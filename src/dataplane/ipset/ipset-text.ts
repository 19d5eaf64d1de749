/** Entries of IP sets as text, in the one form that `===` works on. */
import { parseCidr, parseIp, renderCidr } from '../../net/ip.ts'

export interface Entry {
  readonly ip?: string
  readonly protocol?: SetProtocol
  readonly port?: number
  /** The third part: an address, or a network with its length. A network of one address is that address. */
  readonly source?: string
}

type SetProtocol = keyof typeof protocolNumber

const protocolNumber = { tcp: 6, udp: 17, sctp: 132 } as const

/** The text that the tool prints where it knows the names of protocols; undefined for what is no entry. */
export function canonicalEntry(text: string): string | undefined {
  const entry = parseEntry(text)
  return entry && renderEntry(entry)
}

export function parseEntry(text: string): Entry | undefined {
  const [first = '', second, third, ...rest] = text.split(',')
  if (rest.length > 0) return undefined
  if (second === undefined) return parseLone(first)
  const ip = parseIp(first)
  const service = parseService(second)
  if (ip === undefined || service === undefined) return undefined
  if (third === undefined) return { ip, ...service }
  const source = parseSource(third)
  return source === undefined ? undefined : { ip, ...service, source }
}

/**
 * Protocols by number: the tool looks names up in /etc/protocols, which small images do not have, and then takes
 * numbers only.
 */
export function entryForTool(entry: Entry): string {
  return render(entry, entry.protocol === undefined ? '' : String(protocolNumber[entry.protocol]))
}

function renderEntry(entry: Entry): string {
  return render(entry, entry.protocol ?? '')
}

function render({ ip, port, source }: Entry, protocol: string): string {
  const service = protocol === '' ? port : `${protocol}:${port}`
  return [ip, service, source].filter((part) => part !== undefined).join(',')
}

function parseLone(text: string): Entry | undefined {
  const port = parsePort(text)
  if (port !== undefined) return { port }
  const ip = parseIp(text)
  return ip === undefined ? undefined : { ip }
}

function parseService(text: string): { readonly protocol: SetProtocol; readonly port: number } | undefined {
  const [name = '', digits = ''] = text.split(':')
  const protocol = protocolsByText.get(name.toLowerCase())
  const port = parsePort(digits)
  return protocol === undefined || port === undefined ? undefined : { protocol, port }
}

const protocolsByText: ReadonlyMap<string, SetProtocol> = new Map(
  (['tcp', 'udp', 'sctp'] as const).flatMap((name) => [
    [name, name],
    [String(protocolNumber[name]), name],
  ]),
)

function parsePort(digits: string): number | undefined {
  return /^\d{1,5}$/.test(digits) && Number(digits) <= 65_535 ? Number(digits) : undefined
}

function parseSource(text: string): string | undefined {
  if (!text.includes('/')) return parseIp(text)
  const cidr = parseCidr(text)
  if (cidr === undefined) return undefined
  return cidr.prefixLength === (cidr.family === 'ipv4' ? 32 : 128) ? cidr.network : renderCidr(cidr)
}
