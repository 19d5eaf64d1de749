/** Which special addresses objects may have, and in what words the others are refused. */
import { specialAddress, withArticle } from '../net/special-addresses.ts'
import type { SpecialAddress } from '../net/special-addresses.ts'

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
 * Endpoints: as the API server has it. It refuses loopback too; but without a kernel in between, Services and endpoints may
 * well be there, so the modes decide about that.
 */
const refusedByUse: Readonly<Record<AddressUse, ReadonlySet<SpecialAddress>>> = {
  'external IP': new Set(any),
  'load-balancer IP': new Set(any),
  'cluster IP': new Set(any.filter((kind) => kind !== 'loopback')),
  endpoint: new Set<SpecialAddress>(['unspecified', 'link-local', 'link-local multicast']),
}

/** Why a canonical address may not be used so; undefined when it may. */
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
