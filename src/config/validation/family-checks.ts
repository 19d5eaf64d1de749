import { type Family, familyOf, isUnspecified, otherFamily, parseCidr, parseIp } from '../../net/ip.ts'
import { joinProblems } from '../join-problems.ts'
import { splitHostPort } from '../host-port.ts'
import { programsNftables, type UncheckedConfig } from '../proxy-config.ts'

/** What start-up has found out about the node, and the configuration must fit. */
export interface NodeFamilies {
  readonly podCidrs: readonly string[]
  readonly primaryFamily: Family
}

export interface FamilyCheck {
  /** For the log; the proxy starts anyway. */
  readonly warnings: readonly string[]
  /** If set, the proxy must not start. */
  readonly fatal: string | undefined
}

const shown: Readonly<Record<Family, string>> = { ipv4: 'IPv4', ipv6: 'IPv6' }

/**
 * Warns if node ports are open on addresses that the configuration probably meant to close. Expects `nodePortAddresses`
 * with `primary` already replaced by CIDRs.
 */
export function nodePortWarnings(config: UncheckedConfig, { podCidrs, primaryFamily }: NodeFamilies): string[] {
  const addresses = config.nodePortAddresses
  if (addresses.length === 0 && programsNftables(config.mode))
    return ['the address of this node is not known: node ports are open on all local IPs; give it with --node-address']
  if (addresses.length === 0)
    return ['nodePortAddresses is unset: node ports are open on all local IPs; consider --nodeport-addresses=primary']
  const isDual = [config.detectLocal.clusterCidrs, addresses, config.ipvs.excludeCidrs, podCidrs].some(hasBothFamilies)
  const primaries = addresses.filter((cidr) => familyOfCidr(cidr) === primaryFamily).length
  const [primary, other] = [shown[primaryFamily], shown[otherFamily(primaryFamily)]]
  if (isDual && primaries === addresses.length)
    return [
      `the cluster seems to be dual-stack but nodePortAddresses has only ${primary} CIDRs: node ports are open on all local ${other} IPs`,
    ]
  if (primaries === 0)
    return [
      `the cluster seems to be ${primary}-primary but nodePortAddresses has only ${other} CIDRs: node ports are open on all local ${primary} IPs`,
    ]
  return []
}

/** Finds settings that only apply to the family that is not the node's primary one. */
export function checkFamilies(
  config: UncheckedConfig,
  node: NodeFamilies & { readonly isDualStack: boolean },
): FamilyCheck {
  const { podCidrs, primaryFamily, isDualStack } = node
  const wrong = otherFamily(primaryFamily)
  const cluster = `the cluster is ${shown[primaryFamily]}-${isDualStack ? 'primary' : 'only'}`
  const onlyWrong = (cidrs: readonly string[]) =>
    cidrs.length > 0 && cidrs.every((cidr) => familyOfCidr(cidr) === wrong)
  const warnings: string[] = []
  let isFatal = false
  if (onlyWrong(config.detectLocal.clusterCidrs)) {
    warnings.push(`${cluster} but clusterCIDR has only ${shown[wrong]} addresses`)
    isFatal ||= config.detectLocalMode === 'ClusterCIDR' && !isDualStack
  }
  if (onlyWrong(podCidrs)) {
    warnings.push(`${cluster} but the node's spec.podCIDRs has only ${shown[wrong]} addresses`)
    isFatal ||= config.detectLocalMode === 'NodeCIDR'
  }
  if (familyOfText(config.winkernel.sourceVip) === wrong)
    warnings.push(`${cluster} but winkernel.sourceVip is ${shown[wrong]}`)
  if (!isDualStack) {
    if (onlyWrong(config.ipvs.excludeCidrs))
      warnings.push(`${cluster} but ipvs.excludeCIDRs has only ${shown[wrong]} addresses`)
    for (const field of ['healthzBindAddress', 'metricsBindAddress'] as const) {
      const ip = parseIp(splitHostPort(config[field])?.host ?? '')
      if (ip !== undefined && familyOf(ip) === wrong && !isUnspecified(ip))
        warnings.push(`${cluster} but ${field} is ${shown[wrong]}`)
    }
  }
  return { warnings, fatal: isFatal ? `kube-proxy configuration is incorrect: ${joinProblems(warnings)}` : undefined }
}

function hasBothFamilies(cidrs: readonly string[]): boolean {
  const families = new Set(cidrs.map(familyOfCidr))
  return families.has('ipv4') && families.has('ipv6')
}

function familyOfCidr(cidr: string): Family | undefined {
  return parseCidr(cidr)?.family
}

function familyOfText(text: string): Family | undefined {
  const ip = parseIp(text)
  return ip === undefined ? undefined : familyOf(ip)
}
