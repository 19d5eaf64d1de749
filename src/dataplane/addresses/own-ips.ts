/**
 * The addresses of this machine, asked of the kernel in one go. Every sync asks, so it is one question over a socket that
 * stays open: /proc tells addresses only together with all routes, of which a node may have one for each other node.
 */
import { readSync, writeSync } from 'node:fs'
import { decodeMessages, encodeMessage, messageFlag, verdictOf } from '../netlink/message.ts'
import { NetlinkError, netlinkErrorFrom } from '../netlink/netlink-error.ts'
import { openRouteSocket } from '../netlink/open-netlink.ts'
import { listAddresses, readAddress } from './link-messages.ts'

export type OwnIps = () => readonly string[]

const largestDatagramBytes = 128 << 10
/** They may change while they are read; then they are read again. */
const maxAttempts = 5

/** Rejects with a NetlinkError where netlink does not work. What it returns throws one, and each address is in it once. */
export async function openOwnIps(): Promise<OwnIps> {
  const fd = await openRouteSocket()
  const buffer = Buffer.allocUnsafeSlow(largestDatagramBytes)
  let sequence = 0
  return () => {
    for (let attempt = 1; ; attempt++) {
      const found = dump(fd, ++sequence, buffer)
      if (found !== undefined) return found
      if (attempt === maxAttempts)
        throw new NetlinkError('interrupted', 'cannot list the addresses: they keep changing')
    }
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
