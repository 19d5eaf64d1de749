/** What the guard has to say about the addresses that a Service names: once for each address, whatever its ports. */
import { guardAnnotations } from '../../api/parse-namespace.ts'
import type { ServiceRecord } from '../../api/records.ts'
import type { GuardedAddress, TakenClaim } from './address-claims.ts'
import { addressKey } from './address-claims.ts'
import type { GuardSource } from './address-guard.ts'
import { claimWords, whyText } from './claim-texts.ts'
import type { ServiceNotice } from './service-notices.ts'

/** About addresses that the Service would get at some port, as far as other Services are concerned. */
export function guardNotices(
  { ports }: ServiceRecord,
  guarded: readonly GuardedAddress[],
  taken: readonly TakenClaim[],
  nodeName: string,
): readonly ServiceNotice[] {
  if (guarded.length === 0) return []
  const takenPlaces = new Set(taken.map(({ ip = '', protocol, port }) => addressKey(ip, protocol, port)))
  const notices = guarded.flatMap((address) => {
    const served = ports.filter(({ protocol, port }) => !takenPlaces.has(addressKey(address.ip, protocol, port)))
    return served.length === 0 ? [] : [noticeAbout(address, served, nodeName)]
  })
  return firstOfMany(notices, (more) => `${more} more ${more === 1 ? 'address' : 'addresses'} of this kind`)
}

function noticeAbout(
  { kind, ip, objection, isRefused, by }: GuardedAddress,
  served: ServiceRecord['ports'],
  nodeName: string,
): ServiceNotice {
  const address = `${claimWords[kind]} ${ip}`
  const why = whyText(objection)
  if (objection.takenAs === 'notAllowed')
    return { reason: 'ExternalIPNotAllowed', text: `${address} is not served: ${why}` }
  const owner = 'owner' in objection ? { owner: objection.owner } : {}
  if (isRefused) return { reason: 'GuardedAddress', text: `${address} is not served: ${why} (${denial[by]})`, ...owner }
  // People do it on purpose; but whatever else listens there is out of reach.
  const names = served.map(({ port, protocol }) => `${port}/${protocol}`).join(', ')
  if (objection.takenAs === 'node' && objection.node === nodeName)
    return {
      reason: 'NodeAddress',
      text: `${address} is an address of this node: what the node itself runs on ${names} cannot be reached there`,
    }
  return {
    reason: 'GuardedAddress',
    text: `${address} is served on ${names}, although ${why}; ${howToDeny[by]} to refuse it`,
    ...owner,
  }
}

const denial: Readonly<Record<GuardSource, string>> = {
  flags: '--external-ip-guard=deny',
  namespace: `${guardAnnotations.externalIPGuard}: deny of its namespace`,
}

const howToDeny: Readonly<Record<GuardSource, string>> = {
  flags: 'start with --external-ip-guard=deny',
  namespace: `set ${guardAnnotations.externalIPGuard}: deny at its namespace`,
}

/** Each is a line in the log: one Service that names thousands of addresses must not fill it. */
const mostOfAKind = 10

export function firstOfMany(
  notices: readonly ServiceNotice[],
  rest: (more: number) => string,
): readonly ServiceNotice[] {
  const [next] = notices.slice(mostOfAKind)
  if (next === undefined) return notices
  return [...notices.slice(0, mostOfAKind), { reason: next.reason, text: rest(notices.length - mostOfAKind) }]
}
