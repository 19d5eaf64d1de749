/** Which addresses objects may have, and how others are refused. */
import { familyOf, parseIp } from '../net/ip.ts'
import type { Family } from '../net/ip.ts'
import { shownValue } from '../net/shown-value.ts'
import { specialAddress, withArticle } from '../net/special-addresses.ts'
import type { SpecialAddress } from '../net/special-addresses.ts'
import type { ProblemNotes } from './field-checks.ts'

export type AddressUse = 'external IP' | 'load-balancer IP' | 'cluster IP' | 'endpoint'

const any: readonly SpecialAddress[] = [
  'unspecified',
  'loopback',
  'link-local',
  'link-local multicast',
  'multicast',
  'broadcast',
]

/**
 * Endpoints: as in the API server, which also refuses loopback. But without a kernel in between, Services and endpoints
 * may be there, so that is for the modes to decide.
 */
const refusedByUse: Readonly<Record<AddressUse, ReadonlySet<SpecialAddress>>> = {
  'external IP': new Set(any),
  'load-balancer IP': new Set(any),
  'cluster IP': new Set(any.filter((kind) => kind !== 'loopback')),
  endpoint: new Set<SpecialAddress>(['unspecified', 'link-local', 'link-local multicast']),
}

/** The canonical text of an address of a Service, unless it is invalid or belongs to the machine itself. */
export function usableAddress(text: string, use: AddressUse, field: string, notes: ProblemNotes): string | undefined {
  const ip = parseIp(text)
  const problem = ip === undefined ? `${shownValue(text)} is not an IP address` : addressProblem(ip, use)
  if (problem === undefined) return ip
  notes.problem(field, problem)
  return undefined
}

export function endpointAddress(
  value: unknown,
  family: Family,
  field: string,
  notes: ProblemNotes,
): string | undefined {
  const ip = typeof value === 'string' ? parseIp(value) : undefined
  if (ip === undefined || familyOf(ip) !== family) {
    notes.problem(field, `must be ${family === 'ipv4' ? 'an IPv4' : 'an IPv6'} address, not ${shownValue(value)}`)
    return undefined
  }
  const problem = addressProblem(ip, 'endpoint')
  if (problem === undefined) return ip
  notes.problem(field, problem)
  return undefined
}

/** Why a canonical address may not be used in this way, if it may not. */
export function addressProblem(ip: string, use: AddressUse): string | undefined {
  const special = specialAddress(ip)
  if (special === undefined || !refusedByUse[use].has(special)) return undefined
  return `"${ip}" is ${withArticle(special)} address, which nobody may have as ${withUse[use]}`
}

const withUse: Readonly<Record<AddressUse, string>> = {
  'external IP': 'an external IP',
  'load-balancer IP': 'a load-balancer IP',
  'cluster IP': 'a cluster IP',
  endpoint: 'an endpoint',
}
