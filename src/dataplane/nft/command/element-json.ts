/** Reads `nft --json list set` and `list map`. */
import { ipFromBigInt, ipToBigInt } from '../../../net/ip.ts'
import { NftError } from '../nft.ts'
import type { FieldType, FoundElement, SetDeclaration } from '../nft.ts'

export function parseElements(set: SetDeclaration, printed: string): ReadonlyMap<string, FoundElement> {
  const found = new Map<string, FoundElement>()
  for (const element of elementsIn(printed)) {
    const [left, right] = set.value === undefined ? [element, undefined] : asPair(element)
    const { key, packets } = unwrap(left)
    found.set(fieldsText(key, set.key), { value: right === undefined ? '' : valueText(right, set), packets })
  }
  return found
}

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

function elementsIn(printed: string): readonly Json[] {
  const { nftables } = JSON.parse(printed) as { nftables?: readonly { readonly [kind: string]: Json }[] }
  for (const entry of nftables ?? []) {
    const object = entry['set'] ?? entry['map']
    if (object !== undefined) return (field(object, 'elem') as readonly Json[] | undefined) ?? []
  }
  throw unexpected(printed.slice(0, 200))
}

function asPair(element: Json): readonly [Json, Json] {
  if (Array.isArray(element) && element.length === 2) return element as unknown as readonly [Json, Json]
  throw unexpected(element)
}

/** A key with a comment, a counter or a timeout is wrapped. */
function unwrap(left: Json): { readonly key: Json; readonly packets: number } {
  const wrapped = field(left, 'elem')
  if (wrapped === undefined) return { key: left, packets: 0 }
  const packets = field(field(wrapped, 'counter') ?? null, 'packets')
  return { key: field(wrapped, 'val') ?? null, packets: typeof packets === 'number' ? packets : 0 }
}

function valueText(value: Json, { value: types }: SetDeclaration): string {
  if (types !== undefined && types !== 'verdict') return fieldsText(value, types)
  for (const verdict of ['goto', 'jump']) {
    const to = field(value, verdict)
    if (to !== undefined) return `${verdict} ${atomText(field(to, 'target'))}`
  }
  return Object.keys(value as object)[0] ?? ''
}

function fieldsText(value: Json, types: readonly FieldType[]): string {
  const fields = (field(value, 'concat') as readonly Json[] | undefined) ?? [value]
  return fields.map((part, index) => fieldText(part, types[index])).join(' . ')
}

function fieldText(part: Json, type: FieldType | undefined): string {
  const prefix = field(part, 'prefix')
  if (prefix !== undefined) return `${addressText(field(prefix, 'addr'))}/${atomText(field(prefix, 'len'))}`
  const range = field(part, 'range') as readonly Json[] | undefined
  if (range !== undefined) return range.map(addressText).join('-')
  if (type === 'inet_proto') return protocolNames.get(atomText(part)) ?? atomText(part)
  return addressText(part)
}

/** nft asks /etc/protocols for the names, and prints numbers where there is no such file. */
const protocolNames: ReadonlyMap<string, string> = new Map([
  ['6', 'tcp'],
  ['17', 'udp'],
  ['132', 'sctp'],
])

/** The C library ends some IPv6 addresses in the IPv4 way. */
function addressText(part: Json | undefined): string {
  const address = atomText(part)
  return address.includes(':') && address.includes('.') ? ipFromBigInt(ipToBigInt(address), 'ipv6') : address
}

function atomText(part: Json | undefined): string {
  if (typeof part === 'string' || typeof part === 'number') return String(part)
  throw unexpected(part)
}

function field(value: Json, name: string): Json | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return (value as { readonly [name: string]: Json })[name]
}

function unexpected(what: Json | undefined): NftError {
  return new NftError('failed', `nft printed something unexpected in a list of elements: ${JSON.stringify(what)}`)
}
