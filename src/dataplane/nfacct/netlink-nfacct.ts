/** The counters over netlink. It opens a socket for each call: they are read only once per scrape. */
import { attribute, cString, findAttribute } from '../netlink/attribute.ts'
import type { Slice } from '../netlink/attribute.ts'
import { messageFlag } from '../netlink/message.ts'
import { NetlinkError } from '../netlink/netlink-error.ts'
import type { NetlinkRequest } from '../netlink/netlink.ts'
import { netfilterAttributes, netfilterBody, netfilterType } from '../netlink/nfnetlink.ts'
import type { OpenNetlink } from '../netlink/open-netlink.ts'
import { NfacctError, assertNfacctName } from './nfacct.ts'
import type { Nfacct, NfacctCounter } from './nfacct.ts'

const command = { new: 0, get: 1, delete: 3 } as const
const field = { name: 1, packets: 2, bytes: 3 } as const

export function netlinkNfacct({ open }: { readonly open: OpenNetlink }): Nfacct {
  const read: Nfacct['read'] = async (name, signal) => {
    assertNfacctName(name)
    return guard(async () => {
      await using socket = await open('netfilter')
      const [message] = await socket.request(getCounter(name), signal)
      return message && readCounter(netfilterAttributes(message))
    }, 'not-found')
  }

  return {
    read,
    async ensure(name, signal) {
      if ((await read(name, signal)) !== undefined) return
      await guard(async () => {
        await using socket = await open('netfilter')
        await socket.request(newCounter(name), signal)
      }, 'exists') // another process may have made it just now
    },

    async remove(name, signal) {
      // Without a name the kernel would remove every counter that is not in use.
      assertNfacctName(name)
      await guard(async () => {
        await using socket = await open('netfilter')
        await socket.request(deleteCounter(name), signal)
      }, 'not-found')
    },
  }
}

function getCounter(name: string): NetlinkRequest {
  return {
    doing: `read the counter "${name}"`,
    type: netfilterType('accounting', command.get),
    body: netfilterBody('unspecified', attribute(field.name, cString(name))),
  }
}

/** `exclusive`, because an existing counter must be refused, and never reset. */
function newCounter(name: string): NetlinkRequest {
  return {
    doing: `create the counter "${name}"`,
    type: netfilterType('accounting', command.new),
    flags: messageFlag.create | messageFlag.exclusive,
    body: netfilterBody('unspecified', attribute(field.name, cString(name))),
  }
}

function deleteCounter(name: string): NetlinkRequest {
  return {
    doing: `remove the counter "${name}"`,
    type: netfilterType('accounting', command.delete),
    body: netfilterBody('unspecified', attribute(field.name, cString(name))),
  }
}

function readCounter(fields: Slice): NfacctCounter {
  return { packets: readCount(fields, field.packets), bytes: readCount(fields, field.bytes) }
}

/** Exact up to 2^53, which takes 285 years at a million packets per second. */
function readCount(fields: Slice, type: number): number {
  const count = findAttribute(fields, type)
  return count === undefined ? 0 : Number(count.buffer.readBigUInt64BE(count.from))
}

/** Returns nothing if the kernel answers with the `expected` error. */
async function guard<T>(work: () => Promise<T>, expected: NetlinkError['reason']): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof NetlinkError)) throw error
    if (error.reason === expected) return undefined
    throw new NfacctError(reasons[error.reason] ?? 'failed', error.message, { cause: error })
  }
}

const reasons: Readonly<Partial<Record<NetlinkError['reason'], NfacctError['reason']>>> = {
  'not-permitted': 'not-permitted',
  unsupported: 'unsupported',
  busy: 'in-use',
}
