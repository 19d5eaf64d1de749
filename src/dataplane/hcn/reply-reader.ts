/** Reads members of a reply. A reply that is not what HNS answers means that HNS is broken. */
import { isJsonObject } from '../../api/json-reader.ts'
import type { JsonObject } from '../../api/json-reader.ts'
import { parseIp } from '../../net/ip.ts'
import { shownValue } from '../../net/shown-value.ts'
import { HcnError } from './hcn.ts'

export function parseReply(text: string, of: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new HcnError('unavailable', `HNS answered with ${shownValue(text)} for ${of}, which is not JSON`, { cause })
  }
}

export function objectIn(value: unknown, of: string): JsonObject {
  if (isJsonObject(value)) return value
  throw unreadable(value, of, 'an object')
}

/** Missing and null mean none, as in Go. */
export function listIn(value: unknown, of: string): readonly unknown[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value
  throw unreadable(value, of, 'a list')
}

export function textIn(value: unknown, of: string): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  throw unreadable(value, of, 'a text')
}

/** Its letters come in either case. */
export function idIn(value: unknown, of: string): string {
  const id = textIn(value, of).toLowerCase()
  if (isGuid(id)) return id
  throw unreadable(value, of, 'a GUID')
}

export function ipIn(value: unknown, of: string): string | undefined {
  return parseIp(textIn(value, of))
}

/** Values of an enumeration, or bits of a set of flags: as a number, or by name (`"TCP"`, `"PreserveDIP, UseMux"`). */
export function numberIn(value: unknown, of: string, valuesByName: Readonly<Record<string, number>> = {}): number {
  if (value === undefined || value === null) return 0
  if (typeof value === 'number' && Number.isInteger(value)) return value
  const names = Array.isArray(value) ? value : typeof value === 'string' ? value.split(/[,|]/) : []
  let sum = 0
  for (const name of names) {
    const known = /^\s*\d+\s*$/.test(String(name)) ? Number(name) : valuesByName[String(name).trim().toLowerCase()]
    if (known === undefined) throw unreadable(value, of, 'a number or a known name')
    sum |= known
  }
  if (names.length === 0) throw unreadable(value, of, 'a number or a known name')
  return sum
}

export function isGuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}

function unreadable(value: unknown, of: string, wanted: string): HcnError {
  return new HcnError('unavailable', `HNS answered with ${shownValue(value)} as ${of}, which is not ${wanted}`)
}
