/** Links and addresses over netlink. It opens a socket for each call, so there is nothing to close at the end. */
import { constants } from 'node:os'
import type { NetlinkMessage } from '../netlink/message.ts'
import { NetlinkError } from '../netlink/netlink-error.ts'
import type { Netlink, NetlinkRequest } from '../netlink/netlink.ts'
import type { OpenNetlink } from '../netlink/open-netlink.ts'
import { AddressError, noSuchLink, notDummy } from './addresses.ts'
import type { Addresses, LinkAddress } from './addresses.ts'
import {
  deleteAddress,
  deleteLink,
  findLink,
  listAddresses,
  listLinks,
  newAddress,
  newDummy,
  readAddress,
  readLink,
} from './link-messages.ts'
import type { Link } from './link-messages.ts'

const addressesPerDatagram = 512
/** Links and addresses may change while they are read; then they are read again. */
const maxAttempts = 5

export function netlinkAddresses({ open }: { readonly open: OpenNetlink }): Addresses {
  return {
    list: (signal) => retryInterrupted(open, (socket) => listOnce(socket, signal)),

    find: (name, signal) =>
      retryInterrupted(open, async (socket) => {
        const link = await linkNamed(socket, name, signal)
        if (link === undefined) return undefined
        const addresses = await collect(socket, listAddresses(), readAddress, signal)
        return { kind: kindOf(link), ips: addresses.flatMap((one) => (one.linkIndex === link.index ? one.ip : [])) }
      }),

    ensureDummy: (name, signal) =>
      withSocket(open, async (socket) => {
        if ((await linkNamed(socket, name, signal)) !== undefined) return
        try {
          await socket.request(newDummy(name), signal)
        } catch (error) {
          if (!(error instanceof NetlinkError)) throw error
          if (error.reason === 'unsupported') throw noDummies(name, error)
          if (error.reason !== 'exists') throw error // another process may have made it just now
        }
      }),

    removeDummy: (name, signal) =>
      withSocket(open, async (socket) => {
        const link = await linkNamed(socket, name, signal)
        if (link === undefined) return
        if (link.kind !== 'dummy') throw notDummy(name, kindOf(link))
        await socket.request(deleteLink(link), signal).catch(ignore('not-found'))
      }),

    add: (name, ips, signal) => change(open, name, ips, newAddress, constants.errno.EEXIST, signal),
    remove: (name, ips, signal) => change(open, name, ips, deleteAddress, constants.errno.EADDRNOTAVAIL, signal),
  }
}

async function withSocket<T>(open: OpenNetlink, work: (socket: Netlink) => Promise<T>): Promise<T> {
  try {
    await using socket = await open('route')
    return await work(socket)
  } catch (error) {
    throw error instanceof NetlinkError ? addressError(error) : error
  }
}

async function retryInterrupted<T>(open: OpenNetlink, work: (socket: Netlink) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await withSocket(open, work)
    } catch (error) {
      if (!isInterrupted(error) || attempt === maxAttempts) throw error
    }
}

async function listOnce(socket: Netlink, signal: AbortSignal): Promise<readonly LinkAddress[]> {
  const links = await collect(socket, listLinks(), readLink, signal)
  const namesByIndex = new Map(links.map(({ index, name }) => [index, name]))
  const addresses = await collect(socket, listAddresses(), readAddress, signal)
  return addresses.flatMap(({ linkIndex, ip, prefixLength }) => {
    const link = namesByIndex.get(linkIndex)
    return link === undefined ? [] : [{ link, ip, prefixLength }]
  })
}

async function collect<T>(
  socket: Netlink,
  request: NetlinkRequest,
  read: (message: NetlinkMessage) => T | undefined,
  signal: AbortSignal,
): Promise<readonly T[]> {
  const found: T[] = []
  for await (const messages of socket.dump(request, signal))
    for (const message of messages) {
      const one = read(message)
      if (one !== undefined) found.push(one)
    }
  return found
}

/** `alreadyDone` is the errno that means that the link already has the address, or no longer has it. */
function change(
  open: OpenNetlink,
  name: string,
  ips: readonly string[],
  request: (link: Link, ip: string) => NetlinkRequest,
  alreadyDone: number,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, AddressError>> {
  return withSocket(open, async (socket) => {
    const link = await linkNamed(socket, name, signal)
    if (link === undefined) throw noSuchLink(name)
    const errorsByIp = new Map<string, AddressError>()
    for (let at = 0; at < ips.length; at += addressesPerDatagram) {
      const some = ips.slice(at, at + addressesPerDatagram)
      const errors = await socket.batch(
        some.map((ip) => request(link, ip)),
        signal,
      )
      for (const [index, error] of errors)
        if (error.errno !== alreadyDone) errorsByIp.set(some[index] ?? '', addressError(error))
    }
    return errorsByIp
  })
}

async function linkNamed(socket: Netlink, name: string, signal: AbortSignal): Promise<Link | undefined> {
  const answers = await socket.request(findLink(name), signal).catch(ignore('not-found'))
  return answers?.map(readLink)[0]
}

function ignore(reason: NetlinkError['reason']): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof NetlinkError) || error.reason !== reason) throw error
    return undefined
  }
}

function noDummies(name: string, cause: NetlinkError): AddressError {
  const wayOut = 'the kernel has no dummy links; load the module with "modprobe dummy"'
  return new AddressError('unsupported', `cannot create the dummy link ${name}: ${wayOut}`, { cause })
}

function kindOf({ kind }: Link): string {
  return kind === '' ? 'unknown' : kind
}

function isInterrupted(error: unknown): boolean {
  const cause = error instanceof AddressError ? error.cause : undefined
  return cause instanceof NetlinkError && cause.reason === 'interrupted'
}

function addressError(cause: NetlinkError): AddressError {
  return new AddressError(reasons[cause.reason] ?? 'refused', cause.message, { cause })
}

const reasons: Readonly<Partial<Record<NetlinkError['reason'], AddressError['reason']>>> = {
  'not-permitted': 'not-permitted',
  'not-found': 'no-such-link',
  unsupported: 'unsupported',
}
