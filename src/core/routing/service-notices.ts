/** What a Service asks for and does not get, or gets with a danger in it: said once, with the way out. */
import type { ObjectKey, ServiceRecord, SliceRecord } from '../../api/records.ts'
import { familyOf, hostPort, isLoopback } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import type { ClaimKind, RefusedClaim } from './address-claims.ts'
import type { RouterContext } from './router.ts'

/** One word for machines: the reason of an Event, and a label of the metric. */
export const noticeReasons = [
  'AddressInUse',
  'ApiServerAddress',
  'LoopbackAddress',
  'NodeAddress',
  'SourceRangesOfOtherFamily',
  'UnreadableSourceRange',
] as const

export type NoticeReason = (typeof noticeReasons)[number]

export interface ServiceNotice {
  readonly reason: NoticeReason
  /** A sentence for people. */
  readonly text: string
  /** The other Service that it is about. */
  readonly owner?: ObjectKey
}

/** Hears everything that is wrong with a Service, each time it is routed; an empty list takes back what was said. */
export interface NoticeSink {
  tell(family: Family, service: ObjectKey, notices: readonly ServiceNotice[]): void
}

export const silentNotices: NoticeSink = { tell() {} }

export function noticesAbout(
  service: ServiceRecord,
  slices: Iterable<SliceRecord>,
  context: RouterContext,
  refused: readonly RefusedClaim[],
  nodeIPs: readonly string[] = [context.nodeIP],
): readonly ServiceNotice[] {
  if (service.clusterIPs[context.family] === undefined || service.ports.length === 0) return none
  const isPlain = service.loadBalancerIPs.length === 0 && service.externalIPs.length === 0 && refused.length === 0
  if (isPlain) return loopbackNotices(service, slices, context)
  const notices = [
    ...refusedNotices(refused),
    ...loopbackNotices(service, slices, context),
    ...nodeIPs.flatMap((ip) => nodeAddressNotices(service, ip, context, refused)),
    ...sourceRangeNotices(service, context),
  ]
  return notices.length === 0 ? none : notices
}

const none: readonly ServiceNotice[] = []

export const claimWords: Readonly<Record<ClaimKind, string>> = {
  clusterIP: 'cluster IP',
  nodePort: 'node port',
  loadBalancerIP: 'load-balancer IP',
  externalIP: 'external IP',
}

/** `an external IP of shop/web` */
export function takenText(takenAs: ClaimKind, owner: ObjectKey): string {
  return `${takenAs === 'externalIP' ? 'an' : 'a'} ${claimWords[takenAs]} of ${owner}`
}

/** Each is a line in the log: one Service that names thousands of addresses must not fill it. */
const mostRefusedNotices = 10

function refusedNotices(refused: readonly RefusedClaim[]): readonly ServiceNotice[] {
  const notices = refused.slice(0, mostRefusedNotices).map(refusedNotice)
  const more = refused.length - notices.length
  const words = more === 1 ? 'address is' : 'addresses are'
  return more === 0
    ? notices
    : [...notices, { reason: 'AddressInUse', text: `${more} more ${words} not served either` }]
}

function refusedNotice({ kind, protocol, ip, port, takenAs, owner }: RefusedClaim): ServiceNotice {
  const place = `${ip === undefined ? port : hostPort(ip, port)}/${protocol}`
  const claim = `${claimWords[kind]} ${place} is not served`
  return takenAs === 'apiServer'
    ? { reason: 'ApiServerAddress', text: `${claim}: Fairlead reaches the API server there`, owner }
    : { reason: 'AddressInUse', text: `${claim}: it is ${takenText(takenAs, owner)}`, owner }
}

function loopbackNotices(
  { clusterIPs }: ServiceRecord,
  slices: Iterable<SliceRecord>,
  { family, policy }: RouterContext,
): readonly ServiceNotice[] {
  if (policy.allowLoopback) return none
  const reason = 'LoopbackAddress'
  const clusterIP = clusterIPs[family] ?? ''
  if (isLoopback(clusterIP))
    return [{ reason, text: `cluster IP ${clusterIP} is not served: it is a loopback address` }]
  for (const slice of slices) {
    const endpoint = slice.family === family ? slice.endpoints.find(({ ip }) => isLoopback(ip)) : undefined
    if (endpoint !== undefined)
      return [{ reason, text: `endpoint ${endpoint.ip} of ${slice.name} is not used: it is a loopback address` }]
  }
  return none
}

/** Allowed, because people do it on purpose; but whatever else listens there is out of reach. */
function nodeAddressNotices(
  { externalIPs, loadBalancerIPs, ports }: ServiceRecord,
  nodeIP: string,
  { policy }: RouterContext,
  refused: readonly RefusedClaim[],
): readonly ServiceNotice[] {
  const kind = loadBalancerIPs.includes(nodeIP)
    ? 'loadBalancerIP'
    : policy.allowExternalIPs && externalIPs.includes(nodeIP)
      ? 'externalIP'
      : undefined
  if (kind === undefined || isLoopback(nodeIP)) return none
  const served = ports.filter(({ port, protocol }) =>
    refused.every((claim) => claim.ip !== nodeIP || claim.port !== port || claim.protocol !== protocol),
  )
  if (served.length === 0) return none
  const names = served.map(({ port, protocol }) => `${port}/${protocol}`).join(', ')
  const text = `${claimWords[kind]} ${nodeIP} is an address of this node: what the node itself runs on ${names} cannot be reached there`
  return [{ reason: 'NodeAddress', text }]
}

function sourceRangeNotices(service: ServiceRecord, { family, policy }: RouterContext): readonly ServiceNotice[] {
  const { sourceRanges, hasUnreadableSourceRange, loadBalancerIPs } = service
  if (!loadBalancerIPs.some((ip) => familyOf(ip) === family)) return none
  const hasOwn = sourceRanges.some((range) => range.family === family)
  const name = familyNames[family]
  if (hasUnreadableSourceRange === true)
    return [
      {
        reason: 'UnreadableSourceRange',
        text: `a range in spec.loadBalancerSourceRanges cannot be read and allows nobody: ${
          hasOwn ? `only the others may use` : 'nobody may use'
        } the ${name} load-balancer IPs`,
      },
    ]
  if (sourceRanges.length === 0 || hasOwn) return none
  const text = policy.strictSourceRanges
    ? `spec.loadBalancerSourceRanges has no ${name} range, so nobody may use the ${name} load-balancer IPs (--strict-source-ranges)`
    : `spec.loadBalancerSourceRanges has no ${name} range, so everybody may use the ${name} load-balancer IPs; add one, or start with --strict-source-ranges`
  return [{ reason: 'SourceRangesOfOtherFamily', text }]
}

const familyNames: Readonly<Record<Family, string>> = { ipv4: 'IPv4', ipv6: 'IPv6' }
