/** Destroys sockets over netlink, in all network namespaces of the machine. */
import { closeSync } from 'node:fs'
import { constants } from 'node:os'
import type { Libc } from '../libc/load-libc.ts'
import { NetlinkError } from '../netlink/netlink-error.ts'
import type { Netlink } from '../netlink/netlink.ts'
import { netlinkOn } from '../netlink/open-netlink.ts'
import { destroySocket, listSockets, readSocket, socketFamilies } from './diag-messages.ts'
import type { ListedSocket } from './diag-messages.ts'
import { namespaceCookie } from './namespace-cookie.ts'
import { openInNamespaces, tryToLeave } from './namespace-sockets.ts'
import type { NamespaceAnswer } from './open-in-each.ts'
import { SocketsError } from './sockets.ts'
import type { ConnectedSocket, Destruction, FoundSockets, Reach, Sockets } from './sockets.ts'

const { ENOENT, ESTALE, EOPNOTSUPP } = constants.errno
const goneAlready: ReadonlySet<number | undefined> = new Set([ENOENT, ESTALE])

export interface NetlinkSocketsOptions {
  readonly libc: Libc
  /** `namespace-worker.ts`, compiled. */
  readonly program: URL
  readonly procFolder?: string
  readonly namedFolder?: string
}

export class NetlinkSockets implements Sockets {
  readonly #libc: Libc
  readonly #program: URL
  readonly #folders: { readonly procFolder: string; readonly namedFolder: string }

  constructor({ libc, program, procFolder = '/proc', namedFolder = '/run/netns' }: NetlinkSocketsOptions) {
    this.#libc = libc
    this.#program = program
    this.#folders = { procFolder, namedFolder }
  }

  async ownNamespace(): Promise<bigint | undefined> {
    const [unix, datagrams] = [1, 0o2000002]
    const fd = this.#libc.socket(unix, datagrams, 0)
    if (fd < 0) throw new SocketsError('failed', `cannot open a socket: errno ${-fd}`)
    try {
      return namespaceCookie(this.#libc, fd)
    } finally {
      closeSync(fd)
    }
  }

  async reach(): Promise<Reach> {
    return tryToLeave(this.#program, this.#folders)
  }

  async destroy(sockets: readonly ConnectedSocket[], signal: AbortSignal): Promise<Destruction> {
    if (sockets.length === 0) return { destroyed: 0, unreached: [] }
    const byNamespace = groupBy(sockets, ({ netns }) => netns)
    let destroyed = 0
    await this.#inNamespaces([...byNamespace.keys()], async (netlink, netns) => {
      destroyed += await destroyIn(netlink, byNamespace.get(netns) ?? [], signal)
      byNamespace.delete(netns)
    })
    return { destroyed, unreached: [...byNamespace.values()].flat().map(({ cookie }) => cookie) }
  }

  async find(
    protocol: ConnectedSocket['protocol'],
    isWanted: (ip: string, port: number) => boolean,
    signal: AbortSignal,
  ): Promise<FoundSockets> {
    signal.throwIfAborted()
    const sockets: ConnectedSocket[] = []
    const { closed } = await this.#inNamespaces('all', (netlink, netns) =>
      eachSocket(netlink, protocol, signal, ({ cookie, ip, port }) => {
        if (isWanted(ip, port)) sockets.push({ cookie, netns, protocol, ip, port })
      }),
    )
    return { sockets, closedNamespaces: closed }
  }

  async #inNamespaces(
    wanted: readonly bigint[] | 'all',
    work: (netlink: Netlink, netns: bigint) => Promise<void>,
  ): Promise<Pick<NamespaceAnswer, 'closed'>> {
    const { opened, closed } = await openInNamespaces(this.#program, { wanted, ...this.#folders })
    const lines = opened.map(({ netns, fd }) => ({ netns, netlink: netlinkOn(fd) }))
    try {
      for (const { netns, netlink } of lines) await work(netlink, netns)
    } finally {
      for (const { netlink } of lines) await netlink[Symbol.asyncDispose]()
    }
    return { closed }
  }

  async tryDestroy(signal: AbortSignal): Promise<void> {
    const netns = await this.ownNamespace()
    if (netns === undefined)
      throw new SocketsError(
        'unsupported',
        'cannot destroy sockets: this kernel does not tell namespaces apart (SO_NETNS_COOKIE)',
      )
    using victim = selfConnected(this.#libc, netns)
    const { destroyed } = await this.destroy([victim], signal)
    if (destroyed !== 1) throw new SocketsError('failed', 'cannot destroy sockets: one of its own was not found again')
  }
}

/** Of both families: a socket of IPv6 may be connected to an address of IPv4. */
async function eachSocket(
  netlink: Netlink,
  protocol: ConnectedSocket['protocol'],
  signal: AbortSignal,
  visit: (socket: ListedSocket) => void,
): Promise<void> {
  for (const family of Object.values(socketFamilies))
    await told(async () => {
      for await (const messages of netlink.dump(listSockets(family, protocol), signal))
        for (const message of messages) {
          const socket = readSocket(message)
          if (socket !== undefined) visit(socket)
        }
    })
}

/** Returns how many it destroyed. */
async function destroyIn(netlink: Netlink, sockets: readonly ConnectedSocket[], signal: AbortSignal): Promise<number> {
  let destroyed = 0
  for (const [protocol, wanted] of groupBy(sockets, (socket) => socket.protocol)) {
    const byCookie = new Map(wanted.map((socket) => [socket.cookie, socket]))
    const found: ListedSocket[] = []
    await eachSocket(netlink, protocol, signal, (listed) => {
      const socket = byCookie.get(listed.cookie)
      // A socket may have connected to something else since it was reported.
      if (socket && socket.ip === listed.ip && socket.port === listed.port) found.push(listed)
    })
    const requests = found.map((socket) => destroySocket(socket, protocol))
    const errors = [...(await told(() => netlink.batch(requests, signal))).values()]
    for (const error of errors) if (!goneAlready.has(error.errno)) throw socketsErrorFrom(error)
    destroyed += found.length - errors.length
  }
  return destroyed
}

async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof NetlinkError ? socketsErrorFrom(error) : error
  }
}

function socketsErrorFrom(cause: NetlinkError): SocketsError {
  if (cause.errno === EOPNOTSUPP) {
    const advice = 'the kernel was built without CONFIG_INET_DIAG_DESTROY'
    return new SocketsError('unsupported', `cannot destroy sockets: ${advice}`, { cause })
  }
  // ENOENT for a whole list: the module that lists this protocol is missing.
  if (cause.errno === ENOENT) {
    const advice = 'load the kernel modules udp_diag, tcp_diag and inet_diag'
    return new SocketsError('unsupported', `cannot destroy sockets: ${advice}`, { cause })
  }
  if (cause.reason === 'not-permitted')
    return new SocketsError('not-permitted', 'cannot destroy sockets: give the container CAP_NET_ADMIN', { cause })
  return new SocketsError('failed', `cannot destroy sockets: ${cause.message}`, { cause })
}

/** A UDP socket on loopback that is connected to itself. */
function selfConnected(libc: Libc, netns: bigint): ConnectedSocket & Disposable {
  const [ipv4, datagrams, socketLevel, socketCookie] = [2, 0o2000002, 1, 57]
  const fd = libc.socket(ipv4, datagrams, 0)
  const address = Buffer.alloc(16)
  address.writeUInt16LE(ipv4, 0)
  address.set([127, 0, 0, 1], 4)
  const cookie = Buffer.alloc(8)
  const errno =
    libc.bind(fd, address) ||
    libc.socketName(fd, address) ||
    libc.connect(fd, address) ||
    libc.getSocketOption(fd, socketLevel, socketCookie, cookie)
  if (errno !== 0) {
    closeSync(fd)
    throw new SocketsError('failed', `cannot connect a socket to itself on 127.0.0.1: errno ${errno}`)
  }
  return {
    cookie: cookie.readBigUInt64LE(0),
    netns,
    protocol: 'UDP',
    ip: '127.0.0.1',
    port: address.readUInt16BE(2),
    [Symbol.dispose]: () => closeSync(fd),
  }
}

function groupBy<K, T>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group === undefined) groups.set(keyOf(item), [item])
    else group.push(item)
  }
  return groups
}
