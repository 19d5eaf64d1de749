/** IPVS over generic netlink. It opens a socket for each call, so there is nothing to close at the end. */
import { constants } from 'node:os'
import { familyOf } from '../../net/ip.ts'
import { genericType } from '../netlink/generic.ts'
import type { NetlinkMessage } from '../netlink/message.ts'
import { NetlinkError } from '../netlink/netlink-error.ts'
import type { Netlink, NetlinkRequest } from '../netlink/netlink.ts'
import type { OpenNetlink } from '../netlink/open-netlink.ts'
import {
  readRealServer,
  readRealServerCounters,
  readServer,
  readServerCounters,
  readTimeouts,
} from './decode-answer.ts'
import { IpvsError, serverKey } from './ipvs.ts'
import type { Ipvs, IpvsOperation, ListedRealServer, ServerAddress } from './ipvs.ts'
import { controlCharacterRefusal, describeOperation, refusal } from './operation-errors.ts'
import type { ReadRealServerTable } from './real-server-table.ts'
import * as requests from './encode-request.ts'
import { ipvsFamily } from './protocol-numbers.ts'

export interface NetlinkIpvsOptions {
  readonly open: OpenNetlink
  readonly readRealServerTable: ReadRealServerTable
}

/** Enough to make system calls cheap; between two datagrams an abort can stop it. */
const operationsPerDatagram = 512

export function netlinkIpvs({ open, readRealServerTable }: NetlinkIpvsOptions): Ipvs {
  const talk = <T>(signal: AbortSignal, work: (socket: Netlink, request: MakeRequest) => Promise<T>) =>
    withSocket(open, signal, work)
  return {
    list: (signal) =>
      talk(signal, async (socket, request) => {
        const doing = 'list the virtual servers'
        const servers = await collect(socket, request(doing, requests.listServers()), readServer, signal)
        // Netlink lists the real servers of one virtual server at a time, in three system calls each.
        const table = await readRealServerTable(signal)
        const realServersOf = async (server: ServerAddress) =>
          table === undefined
            ? await listRealServers(socket, request, server, signal)
            : (table.get(serverKey(server)) ?? [])
        const listed = []
        for (const server of servers) listed.push({ ...server, realServers: await realServersOf(server) })
        return listed
      }),

    find: (server, signal) =>
      talk(signal, async (socket, request) => {
        const question = request(`read the virtual server ${serverKey(server)}`, requests.findServer(server))
        const [answer] = await socket.request(question, signal).catch((error: unknown) => {
          if (error instanceof NetlinkError && error.errno === constants.errno.ESRCH) return []
          throw error
        })
        const found = answer && readServer(answer)
        return found && { ...found, realServers: await listRealServers(socket, request, server, signal) }
      }),

    counters: (signal) =>
      talk(signal, async (socket, request) => {
        const doing = 'read the counters of the virtual servers'
        const read = (message: NetlinkMessage) => {
          const server = readServer(message)
          return server && { server, counters: readServerCounters(message) }
        }
        const counted = []
        for (const { server, counters } of await collect(
          socket,
          request(doing, requests.listServers()),
          read,
          signal,
        )) {
          const { ip, port, protocol } = server
          const readReal = (message: NetlinkMessage) => {
            const real = readRealServer(message, familyOf(ip))
            return real && { ...real, ...readRealServerCounters(message) }
          }
          const question = request(`read the counters of ${serverKey(server)}`, requests.listRealServers(server))
          counted.push({
            ip,
            port,
            protocol,
            ...counters,
            realServers: await collect(socket, question, readReal, signal),
          })
        }
        return counted
      }),

    realServers: (server, signal) =>
      talk(signal, (socket, request) => listRealServers(socket, request, server, signal)),

    apply: (operations, signal) =>
      talk(signal, async (socket, request) => {
        const errorsByIndex = new Map<number, IpvsError>()
        for (let at = 0; at < operations.length; at += operationsPerDatagram) {
          const indexes: number[] = []
          for (const [offset, operation] of operations.slice(at, at + operationsPerDatagram).entries()) {
            const refused = controlCharacterRefusal(operation, false)
            if (refused === undefined) indexes.push(at + offset)
            else errorsByIndex.set(at + offset, refused)
          }
          const some = indexes.flatMap((index) => operations[index] ?? [])
          const batch = some.map((operation) => request(describeOperation(operation), requests.operation(operation)))
          if (batch.length === 0) continue
          for (const [index, error] of await socket.batch(batch, signal))
            errorsByIndex.set(indexes[index] ?? index, operationError(some[index], error))
        }
        return errorsByIndex
      }),

    flush: (signal) =>
      talk(signal, async (socket, request) => {
        await socket.request(request('delete all virtual servers', requests.flush()), signal)
      }),

    timeouts: (signal) =>
      talk(signal, async (socket, request) => {
        const [answer] = await socket.request(request('read the timeouts of IPVS', requests.timeouts()), signal)
        if (answer === undefined) throw new IpvsError('refused', 'cannot read the timeouts of IPVS: no answer')
        return readTimeouts(answer)
      }),

    setTimeouts: (timeouts, signal) =>
      talk(signal, async (socket, request) => {
        await socket.request(request('set the timeouts of IPVS', requests.setTimeouts(timeouts)), signal)
      }),
  }
}

type MakeRequest = (doing: string, body: Buffer) => NetlinkRequest

async function withSocket<T>(
  open: OpenNetlink,
  signal: AbortSignal,
  work: (socket: Netlink, request: MakeRequest) => Promise<T>,
): Promise<T> {
  try {
    await using socket = await open('generic')
    const type = await familyType(socket, signal)
    return await work(socket, (doing, body) => ({ doing, type, body }))
  } catch (error) {
    if (!(error instanceof NetlinkError)) throw error
    throw new IpvsError(error.reason === 'not-permitted' ? 'not-permitted' : 'refused', error.message, { cause: error })
  }
}

async function familyType(socket: Netlink, signal: AbortSignal): Promise<number> {
  try {
    return await genericType(socket, ipvsFamily, signal)
  } catch (cause) {
    if (!(cause instanceof NetlinkError) || cause.reason !== 'not-found') throw cause
    const message = 'cannot use IPVS: the kernel does not have it; load the module with "modprobe ip_vs"'
    throw new IpvsError('module-missing', message, { cause })
  }
}

function listRealServers(
  socket: Netlink,
  request: MakeRequest,
  server: ServerAddress,
  signal: AbortSignal,
): Promise<readonly ListedRealServer[]> {
  const question = request(`list the real servers of ${serverKey(server)}`, requests.listRealServers(server))
  return collect(socket, question, (message) => readRealServer(message, familyOf(server.ip)), signal)
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

function operationError(operation: IpvsOperation | undefined, cause: NetlinkError): IpvsError {
  const { EEXIST, ESRCH, ENOENT } = constants.errno
  const { errno } = cause
  if (operation !== undefined) {
    if (errno === EEXIST) return refusal(operation, 'exists', { cause })
    if (errno === ESRCH) return refusal(operation, 'no such server', { cause })
    // ENOENT means two things: there is no such real server, or no such scheduler.
    const missing = 'realServer' in operation ? 'no such real server' : 'no such scheduler'
    if (errno === ENOENT) return refusal(operation, missing, { cause })
  }
  return new IpvsError(cause.reason === 'not-permitted' ? 'not-permitted' : 'refused', cause.message, { cause })
}
