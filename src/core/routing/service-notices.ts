/** What a Service asks for and does not get, or gets with a danger in it: said once, with the way out. */
import type { ObjectKey, ServiceRecord, SliceRecord } from '../../api/records.ts'
import { familyOf, isLoopback } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import type { GuardedAddress, RefusedClaim, TakenClaim } from './address-claims.ts'
import { claimWords, isTaken, placeText, whyText } from './claim-texts.ts'
import { firstOfMany, guardNotices } from './guard-notices.ts'
import { refusedTraffic, refusedWeights } from './mode-abilities.ts'
import type { RouterContext } from './router.ts'

/** One word for machines: the reason of an Event, and a label of the metric. */
export const noticeReasons = [
  'AddressInUse',
  'ApiServerAddress',
  'ExternalIPNotAllowed',
  'GuardedAddress',
  'LoopbackAddress',
  'NodeAddress',
  'SourceRangesOfOtherFamily',
  'UnreachableEndpoint',
  'UnsupportedAnnotation',
  'UnreadableSourceRange',
] as const

export type NoticeReason = (typeof noticeReasons)[number]

/** What one node says of itself: others may say the same, and mean something else. */
const reasonsOfOneNode: readonly NoticeReason[] = ['NodeAddress', 'UnreachableEndpoint']

export function isOfOneNode(reason: NoticeReason): boolean {
  return reasonsOfOneNode.includes(reason)
}

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
  guarded: readonly GuardedAddress[] = [],
): readonly ServiceNotice[] {
  if (service.clusterIPs[context.family] === undefined || service.ports.length === 0) return none
  const isPlain =
    service.loadBalancerIPs.length === 0 &&
    service.externalIPs.length === 0 &&
    refused.length === 0 &&
    service.traffic === undefined
  const weights = weightNotices(slices, context)
  if (isPlain && weights.length === 0) return loopbackNotices(service, slices, context)
  const notices = [
    ...refusedNotices(refused.filter(isTaken)),
    ...loopbackNotices(service, slices, context),
    ...weights,
    ...guardNotices(service, guarded, refused.filter(isTaken), context.nodeName),
    ...sourceRangeNotices(service, context),
    ...refusedTraffic(service, context.policy.abilities).map((text) => ({
      reason: 'UnsupportedAnnotation' as const,
      text,
    })),
  ]
  return notices.length === 0 ? none : notices
}

const none: readonly ServiceNotice[] = []

function refusedNotices(refused: readonly TakenClaim[]): readonly ServiceNotice[] {
  return firstOfMany(
    refused.map(refusedNotice),
    (more) => `${more} more ${more === 1 ? 'address is' : 'addresses are'} not served either`,
  )
}

function refusedNotice(claim: TakenClaim): ServiceNotice {
  const { kind, protocol, takenAs, owner } = claim
  const reason = takenAs === 'apiServer' ? 'ApiServerAddress' : 'AddressInUse'
  return { reason, text: `${claimWords[kind]} ${placeText(claim)}/${protocol} is not served: ${whyText(claim)}`, owner }
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

/** Of the first slice: they are mostly alike. */
function weightNotices(slices: Iterable<SliceRecord>, { family, policy }: RouterContext): readonly ServiceNotice[] {
  if (policy.abilities.weights) return none
  for (const slice of slices) {
    const text = slice.family === family ? refusedWeights(slice, policy.abilities) : undefined
    if (text !== undefined) return [{ reason: 'UnsupportedAnnotation', text }]
  }
  return none
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
