/** Opens real netlink sockets. */
import { close, read, write } from 'node:fs'
import { constants, endianness } from 'node:os'
import { promisify } from 'node:util'
import { u32 } from './attribute.ts'
import type { Datagrams, KernelDatagrams } from './datagrams.ts'
import { loadLibc } from '../libc/load-libc.ts'
import type { Libc } from '../libc/load-libc.ts'
import { NetlinkError, netlinkErrorFrom } from './netlink-error.ts'
import { NetlinkSocket } from './netlink-socket.ts'
import type { Netlink, NetlinkProtocol } from './netlink.ts'

/** Rejects with reason `unsupported` where netlink does not work: callers then use a command. */
export type OpenNetlink = (protocol: NetlinkProtocol) => Promise<Netlink>

export const openNetlink: OpenNetlink = async (protocol) => new NetlinkSocket(await openDatagrams(protocol))

/** Takes over a descriptor of `openSocket`, which another thread may have opened. */
export const netlinkOn = (fd: number): Netlink => new NetlinkSocket(fileDatagrams(fd))

/** For callers that encode messages themselves, or only listen. Rejects as `openNetlink` does. */
export type OpenDatagrams = (protocol: NetlinkProtocol) => Promise<KernelDatagrams>

export const openDatagrams: OpenDatagrams = async (protocol) => {
  const libc = await libcForNetlink()
  const fd = openSocket(libc, protocol)
  return { ...fileDatagrams(fd), ...socketSettings(libc, fd) }
}

/** A descriptor for questions about links, addresses and routes, which a caller reads and writes by itself. Rejects as `openNetlink` does. */
export const openRouteSocket = async (): Promise<number> => openSocket(await libcForNetlink(), 'route')

/** Whether anything was told to these groups since the last time somebody asked. Rejects as `openNetlink` does. */
export async function openRouteNews(groups: readonly number[]): Promise<() => boolean> {
  const libc = await libcForNetlink()
  const fd = openSocket(libc, 'route')
  const { join } = socketSettings(libc, fd)
  // One message is enough to know that there is news, and nobody may ask for hours: the kernel keeps as little as it can.
  const [socketLevel, receiveBuffer] = [1, 8]
  libc.setSocketOption(fd, socketLevel, receiveBuffer, u32(0))
  for (const group of groups) join(group)
  // What is told does not matter: the rest of a datagram that has no room is dropped.
  const start = Buffer.allocUnsafeSlow(16)
  return () => {
    for (let isNews = false; ; isNews = true) {
      const result = libc.receiveNow(fd, start)
      if (-result === constants.errno.EAGAIN) return isNews
      // The kernel drops what it has no room for, and says so once (ENOBUFS).
      if (result < 0 && -result !== constants.errno.ENOBUFS) throw netlinkErrorFrom(-result, 'hear of changes')
    }
  }
}

const protocolNumber: Readonly<Record<NetlinkProtocol, number>> = {
  route: 0,
  'sock-diag': 4,
  netfilter: 12,
  generic: 16,
}

/** The largest attribute is 64 KiB; dumps come in datagrams of up to 32 KiB. */
const largestDatagramBytes = 128 << 10
/** Room for thousands of errors in answer to one batch, and for a batch of a million bytes and more. */
const socketBufferBytes = 16 << 20

async function libcForNetlink(): Promise<Libc> {
  const tried = 'cannot open a netlink socket'
  if (process.platform !== 'linux') throw new NetlinkError('unsupported', `${tried}: only Linux has netlink`)
  if (endianness() !== 'LE')
    throw new NetlinkError('unsupported', `${tried}: Fairlead supports it on little-endian machines only`)
  try {
    return await loadLibc()
  } catch (cause) {
    const machine = `${process.platform}-${process.arch}`
    throw new NetlinkError('unsupported', `${tried}: the package koffi does not load on ${machine}`, { cause })
  }
}

/** Returns a descriptor in the network namespace of the calling thread. */
export function openSocket(libc: Libc, protocol: NetlinkProtocol): number {
  const [netlinkDomain, raw, closeOnExec, nonBlocking] = [16, 3, 0o2000000, 0o4000]
  const doing = `open a netlink socket (${protocol})`
  const fd = libc.socket(netlinkDomain, raw | closeOnExec | nonBlocking, protocolNumber[protocol])
  if (fd < 0) throw netlinkErrorFrom(-fd, doing)
  // Port 0: the kernel chooses one. No multicast groups.
  const errno = libc.bind(fd, Buffer.concat([u32(netlinkDomain), u32(0), u32(0)]))
  if (errno !== 0) {
    close(fd)
    throw netlinkErrorFrom(errno, doing)
  }
  tune(libc, fd)
  return fd
}

/** Larger buffers and better errors, where the kernel allows it; none of it is needed. */
function tune(libc: Libc, fd: number): void {
  const [socketLevel, sendBuffer, receiveBuffer, sendBufferForce, receiveBufferForce] = [1, 7, 8, 32, 33]
  const [netlinkLevel, headersOnlyInErrors, textInErrors] = [270, 10, 11]
  const bytes = u32(socketBufferBytes)
  // The plain options are limited by net.core.{w,r}mem_max; the "force" options need CAP_NET_ADMIN.
  if (libc.setSocketOption(fd, socketLevel, sendBufferForce, bytes) !== 0)
    libc.setSocketOption(fd, socketLevel, sendBuffer, bytes)
  if (libc.setSocketOption(fd, socketLevel, receiveBufferForce, bytes) !== 0)
    libc.setSocketOption(fd, socketLevel, receiveBuffer, bytes)
  libc.setSocketOption(fd, netlinkLevel, headersOnlyInErrors, u32(1))
  libc.setSocketOption(fd, netlinkLevel, textInErrors, u32(1))
}

function socketSettings(libc: Libc, fd: number): Omit<KernelDatagrams, keyof Datagrams> {
  const [socketLevel, sendBufferForce, netlinkLevel, addMembership, dropMembership] = [1, 32, 270, 1, 2]
  const set = (doing: string, level: number, option: number, value: number) => {
    const errno = libc.setSocketOption(fd, level, option, u32(value))
    if (errno !== 0) throw netlinkErrorFrom(errno, doing)
  }
  return {
    join: (group) => set(`listen to netlink group ${group}`, netlinkLevel, addMembership, group),
    leave: (group) => set(`leave netlink group ${group}`, netlinkLevel, dropMembership, group),
    makeRoom(bytes) {
      // The kernel uses 32 bytes of it for itself. It also doubles the size, so this is always enough.
      if (bytes > socketBufferBytes) set('send this much at once', socketLevel, sendBufferForce, bytes + 32)
    },
  }
}

/**
 * Reads and writes on libuv's threads. The kernel does the work of a request inside `write` and that of a dump inside
 * `read`. That is about half the cost of a dump, and would block the event loop.
 */
function fileDatagrams(fd: number): Datagrams {
  const [readFd, writeFd, closeFd] = [promisify(read), promisify(write), promisify(close)]
  const buffer = Buffer.allocUnsafeSlow(largestDatagramBytes)
  return {
    async send(datagram) {
      await writeFd(fd, datagram, 0, datagram.length, null)
    },
    async receive() {
      try {
        const { bytesRead } = await readFd(fd, buffer, 0, buffer.length, null)
        return Buffer.from(buffer.subarray(0, bytesRead))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined
        throw error
      }
    },
    close: () => closeFd(fd),
  }
}
