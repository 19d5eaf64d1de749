/** How much a proxy asks of the kernel, in messages. */
import type { NetlinkMessage } from './netlink-tap.ts'

export interface NetlinkTally {
  /** Requests to IPVS that change something. */
  readonly ipvsWrites: number
  readonly ipvsReads: number
  /** Virtual and real servers in the answers. */
  readonly ipvsObjectsRead: number
  /** To IP sets, addresses, links and connection tracking. */
  readonly otherRequests: number
}

const generic = 16
/** Its controller tells the numbers of the others. */
const controller = 16
/** The numbers below are answers without content: errors, acknowledgements, ends. */
const firstContent = 16
const writes: ReadonlySet<number> = new Set([1, 2, 3, 5, 6, 7])

export function tallyNetlink(messages: readonly NetlinkMessage[]): NetlinkTally {
  const ofIpvs = messages.filter(isOfIpvs)
  const requests = ofIpvs.filter(({ isRequest }) => isRequest)
  const ipvsWrites = requests.filter(({ body }) => writes.has(body.readUInt8(0))).length
  return {
    ipvsWrites,
    ipvsReads: requests.length - ipvsWrites,
    ipvsObjectsRead: ofIpvs.filter(({ isRequest, type }) => !isRequest && type >= firstContent).length,
    otherRequests: messages.filter(({ protocol, isRequest }) => protocol !== generic && isRequest).length,
  }
}

/** How many of the requests to IPVS do not speak of the Service with this cluster IP. */
export function requestsElsewhere(messages: readonly NetlinkMessage[], clusterIP: string): number {
  const address = Buffer.from(clusterIP.split('.').map(Number))
  return messages.filter((message) => isOfIpvs(message) && message.isRequest && !message.body.includes(address)).length
}

function isOfIpvs({ protocol, type }: NetlinkMessage): boolean {
  return protocol === generic && type !== controller
}
