/**
 * The addresses of this machine, asked of the kernel in one go: /proc tells addresses only together with all routes, of
 * which a node may have one for each other node. Every sync wants to know, so they are listed again only when the kernel
 * has told of a change.
 */
import { readSync, writeSync } from 'node:fs'
import { decodeMessages, encodeMessage, messageFlag, verdictOf } from '../netlink/message.ts'
import { NetlinkError, netlinkErrorFrom } from '../netlink/netlink-error.ts'
import { openRouteNews, openRouteSocket } from '../netlink/open-netlink.ts'
import { listAddresses, readAddress } from './link-messages.ts'

export type OwnIps = () => readonly string[]

const largestDatagramBytes = 128 << 10
/** They may change while they are read; then they are read again. */
const maxAttempts = 5

/** RTNLGRP_IPV4_IFADDR and RTNLGRP_IPV6_IFADDR */
const addressGroups: readonly number[] = [5, 9]

/**
 * Rejects with a NetlinkError where netlink does not work. What it returns throws one. Each address is in the list once, and
 * the list is the same one until they change.
 */
export async function openOwnIps(): Promise<OwnIps> {
  // Before the first list: a change that comes in between makes for another list, not for a wrong one.
  const isNews = await openRouteNews(addressGroups)
  const fd = await openRouteSocket()
  const buffer = Buffer.allocUnsafeSlow(largestDatagramBytes)
  let sequence = 0
  const list = () => {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const found = dump(fd, ++sequence, buffer)
      if (found !== undefined) return found
    }
    throw new NetlinkError('interrupted', 'cannot list the addresses: they keep changing')
  }
  let known: readonly string[] | undefined
  return () => {
    if (isNews()) known = undefined
    return (known ??= list())
  }
}

/** Returns nothing if they changed meanwhile. */
function dump(fd: number, sequence: number, buffer: Buffer): readonly string[] | undefined {
  const { doing, type, body } = listAddresses()
  writeSync(fd, encodeMessage(type, messageFlag.request | messageFlag.dump, sequence, body))
  const found = new Set<string>()
  let isInterrupted = false
  for (;;) {
    const messages = decodeMessages(buffer.subarray(0, readSync(fd, buffer)))
    if (messages === undefined) throw new NetlinkError('failed', `cannot ${doing}: an answer is cut off`)
    for (const message of messages) {
      // Of an earlier question that ended with an error.
      if (message.sequence !== sequence) continue
      if ((message.flags & messageFlag.dumpInterrupted) !== 0) isInterrupted = true
      const verdict = verdictOf(message)
      if (verdict === undefined) {
        const address = readAddress(message)
        if (address !== undefined) found.add(address.ip)
      } else if (verdict.errno !== 0) throw netlinkErrorFrom(verdict.errno, doing)
      else return isInterrupted ? undefined : [...found]
    }
  }
}
