import { parseCidr } from '../../net/ip.ts'
import type { DetectLocalMode, UncheckedConfig } from '../proxy-config.ts'
import { invalid, unsupported } from './field-problem.ts'

export const detectLocalModes: readonly DetectLocalMode[] = [
  'ClusterCIDR',
  'NodeCIDR',
  'BridgeInterface',
  'InterfaceNamePrefix',
  '',
]

export function cidrListProblems(path: string, cidrs: readonly string[]): string[] {
  return cidrs.flatMap((cidr, index) =>
    isCidr(cidr) ? [] : [invalid(`${path}[${index}]`, cidr, 'must be a valid CIDR')],
  )
}

/** `primary` must be alone; what comes after it is not checked. */
export function nodePortAddressProblems(path: string, addresses: readonly string[]): string[] {
  const primary = addresses.indexOf('primary')
  if (primary < 0) return cidrListProblems(path, addresses)
  const problems = cidrListProblems(path, addresses.slice(0, primary))
  if (addresses.length > 1)
    problems.push(invalid(`${path}[${primary}]`, 'primary', "can't use both 'primary' and CIDRs"))
  return problems
}

export function detectLocalProblems(root: string, { detectLocalMode, detectLocal }: UncheckedConfig): string[] {
  const path = `${root}.DetectLocalConfiguration`
  switch (detectLocalMode) {
    case 'ClusterCIDR':
      return clusterCidrProblems(`${path}.ClusterCIDRs`, detectLocal.clusterCidrs)
    case 'BridgeInterface':
      return interfaceNameProblems(`${path}.InterfaceName`, detectLocal.bridgeInterface)
    case 'InterfaceNamePrefix':
      return interfaceNameProblems(`${path}.InterfacePrefix`, detectLocal.interfaceNamePrefix)
    case 'NodeCIDR':
    case '':
      return []
    default:
      return [unsupported(`${root}.DetectLocalMode`, detectLocalMode, detectLocalModes)]
  }
}

function clusterCidrProblems(path: string, cidrs: readonly string[]): string[] {
  const notAPair =
    'must be either a single CIDR or a dual-stack pair of CIDRs (e.g. [10.100.0.0/16, fde4:8dba:82e1::/48])'
  if (cidrs.length > 2) return [invalid(path, cidrs, notAPair)]
  const malformed = cidrs.flatMap((cidr, index) =>
    isCidr(cidr)
      ? []
      : [invalid(`${path}[${index}]`, cidr, 'must be a valid CIDR block (e.g. 10.100.0.0/16 or fde4:8dba:82e1::/48)')],
  )
  if (malformed.length > 0) return malformed
  const families = new Set(cidrs.map((cidr) => parseCidr(cidr)?.family))
  return cidrs.length === 2 && families.size === 1 ? [invalid(path, cidrs, notAPair)] : []
}

/** It ends up in rules, so it must be a name that the kernel could give to a device. */
function interfaceNameProblems(path: string, name: string): string[] {
  if (name === '') return [invalid(path, name, 'must not be empty')]
  if (/^[\w.:@-]{1,15}$/.test(name)) return []
  return [invalid(path, name, 'must be at most 15 letters, digits and characters of "_.:@-"')]
}

function isCidr(text: string): boolean {
  return parseCidr(text) !== undefined
}
