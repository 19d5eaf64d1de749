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

/**
 * Values of an enumeration, or bits of a set of flags: as a number, or by name (`"TCP"`, `"PreserveDIP, UseMux"`). A
 * name that nobody knows counts as zero, as HNS has it for "unknown": it is on an object of somebody else.
 */
export function numberIn(value: unknown, of: string, valuesByName?: Readonly<Record<string, number>>): number {
  if (value === undefined || value === null) return 0
  if (typeof value === 'number' && Number.isInteger(value)) return value
  if (typeof value === 'string' && /^\d+$/.test(value)) return Number(value)
  if (valuesByName === undefined || (typeof value !== 'string' && !Array.isArray(value)))
    throw unreadable(value, of, 'a number')
  const names = Array.isArray(value) ? value.map(String) : value.split(/[,|]/)
  return names.reduce((sum, name) => sum | (valuesByName[name.trim().toLowerCase()] ?? 0), 0)
}

export function isGuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}

function unreadable(value: unknown, of: string, wanted: string): HcnError {
  return new HcnError('unavailable', `HNS answered with ${shownValue(value)} as ${of}, which is not ${wanted}`)
}
