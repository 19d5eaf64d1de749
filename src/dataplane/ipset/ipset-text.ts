/**
 * Reads the output of `ipset save`, and converts entries to and from text. Canonical text of equal entries is equal.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseCidr, parseIp, renderCidr } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import type { ListedSet } from './ipset.ts'

export interface Entry {
  readonly ip?: string
  readonly protocol?: SetProtocol
  readonly port?: number
  /** An address, or a network with its length. A network of one address is written as that address. */
  readonly source?: string
}

type SetProtocol = keyof typeof protocolNumber

const protocolNumber = { tcp: 6, udp: 17, sctp: 132 } as const

/** This many lines take a few milliseconds; then the event loop gets a turn. */
const linesPerTurn = 10_000

export async function parseSaved(text: string): Promise<readonly ListedSet[]> {
  const setsByName = new Map<string, ListedSet & { readonly entries: Set<string> }>()
  let lines = 0
  for (let at = 0; at < text.length;) {
    const newline = text.indexOf('\n', at)
    const end = newline < 0 ? text.length : newline
    const [verb, name = '', what = '', ...more] = text.slice(at, end).split(' ')
    at = end + 1
    if (verb === 'create') setsByName.set(name, { name, type: what, family: familyIn(more), entries: new Set() })
    // An entry that we would not write ourselves is listed as it is, so that it can be deleted.
    else if (verb === 'add') setsByName.get(name)?.entries.add(canonicalEntry(what) ?? what)
    if (++lines % linesPerTurn === 0) await nextTurn()
  }
  return [...setsByName.values()]
}

function familyIn(words: readonly string[]): Family | undefined {
  const family = words[words.indexOf('family') + 1]
  return family === 'inet' ? 'ipv4' : family === 'inet6' ? 'ipv6' : undefined
}

/** With names of protocols. The tool prints numbers where /etc/protocols is missing. */
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
 * With protocol numbers: the tool looks names up in /etc/protocols, which small images do not have.
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
