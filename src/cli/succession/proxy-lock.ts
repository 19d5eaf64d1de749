/** Sees to it that one proxy programs a node: the second waits for the first, or takes over from it. */
import { closeSync } from 'node:fs'
import { getSystemErrorName } from 'node:util'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { Libc } from '../../dataplane/libc/load-libc.ts'
import type { KeptSocket } from '../../net/kept-sockets.ts'
import { bindAbstract, connectAbstract, isTaken, peerOf } from './abstract-socket.ts'
import type { Peer } from './abstract-socket.ts'
import { LineConnection } from './line-connection.ts'
import { parseFromRunning, protocolNumber } from './messages.ts'
import type { NamedSocket, ProxyIdentity } from './messages.ts'
import { isTrustedHolder } from './trusted-peer.ts'

/** One for all modes of Linux: they serve the same addresses. */
export const lockName = 'fairlead/proxy'

export interface LockOptions {
  readonly name: string
  readonly self: ProxyIdentity
  readonly takesOver: boolean
  /** Resolves when this process knows enough to serve: until then the other one goes on. */
  readonly untilReady: (signal: AbortSignal) => Promise<void>
  readonly libc: Libc
  readonly uid: number
  readonly clock: Clock
  readonly log: Logger
}

/** The lock is ours, or will be when the one before us has retired. */
export interface HeldLock {
  /** Listens under the name. */
  readonly fd: number
  readonly predecessor?: Predecessor
}

/** The proxy that handed over: it still accepts connections, and programs nothing. */
export interface Predecessor {
  readonly connection: LineConnection
  readonly identity: ProxyIdentity
  readonly sockets: readonly KeptSocket[]
}

/** Undefined: there is no lock to be had, and the log says why. */
export async function takeLock(options: LockOptions, signal: AbortSignal): Promise<HeldLock | undefined> {
  const { libc, name, log, clock } = options
  let told: string | undefined
  for (;;) {
    const bound = bindAbstract(libc, name)
    if (bound.ok) return { fd: bound.fd }
    if (!isTaken(bound)) {
      log.warn('running without a lock: a second proxy would not notice this one', {
        error: getSystemErrorName(-bound.errno),
      })
      return undefined
    }
    const running = await meet(options, signal)
    if (running === 'gone') {
      await clock.sleep(meetAgainMs, signal)
      continue
    }
    using connection = running.connection
    const { peer, identity, protocol } = running
    // Anybody may listen under any name.
    if (peer !== undefined && !isTrustedHolder(peer, options.uid)) {
      log.warn('running without a lock: a process that is no proxy of this node holds its name', {
        socket: `@${name}`,
        ...peer,
      })
      return undefined
    }
    const fields = who(identity, peer, clock)
    if (options.takesOver && protocol === protocolNumber) {
      log.info('taking over from the proxy that runs', fields)
      const taken = await takeOver(options, connection, identity, signal)
      if (taken !== undefined) return taken
      log.warn('it ended, or could not hand over; trying again', fields)
      await clock.sleep(meetAgainMs, signal)
      continue
    }
    const text = JSON.stringify([fields['pid'], fields['since']])
    if (text !== told) log.warn(sayingOf(options, protocol), fields)
    told = text
    await untilGone(connection, signal)
    // It may have hung up on us, and still run.
    await clock.sleep(meetAgainMs, signal)
  }
}

/** Between two looks at a name that somebody has just given up, or is about to use. */
const meetAgainMs = 50
/** One that says nothing for so long hangs, or is none of ours. It is waited for all the same. */
const patienceMs = 2_000
const lookEveryMs = 5
/** For an end that may be days away. */
const lookSeldomMs = 200

interface Running {
  readonly connection: LineConnection
  readonly peer: Peer | undefined
  /** Undefined: it did not say. */
  readonly identity: ProxyIdentity | undefined
  readonly protocol: number | undefined
}

/** The mode of the proxy that holds the lock; undefined: nobody does, or does not say. */
export async function modeOfHolder(
  options: Pick<LockOptions, 'libc' | 'name' | 'clock'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const running = await meet(options, signal)
  if (running === 'gone') return undefined
  using _connection = running.connection
  return running.identity?.mode
}

async function meet(
  { libc, name, clock }: Pick<LockOptions, 'libc' | 'name' | 'clock'>,
  signal: AbortSignal,
): Promise<Running | 'gone'> {
  const connected = connectAbstract(libc, name)
  if (!connected.ok) return 'gone'
  const connection = new LineConnection(libc, connected.fd, clock)
  const peer = peerOf(libc, connected.fd)
  try {
    const line = await connection.line(lookEveryMs, AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]))
    const message = line === undefined ? undefined : parseFromRunning(line)
    if (message?.kind !== 'running') return { connection, peer, identity: undefined, protocol: undefined }
    const { kind: _kind, protocol, ...identity } = message
    return { connection, peer, identity, protocol }
  } catch (error) {
    if (!signal.aborted) return { connection, peer, identity: undefined, protocol: undefined }
    connection[Symbol.dispose]()
    throw error
  }
}

function sayingOf({ takesOver }: LockOptions, protocol: number | undefined): string {
  if (!takesOver) return 'another proxy runs on this node: waiting for its end (--take-over would take its place)'
  return protocol === undefined
    ? 'another proxy runs on this node and does not answer: waiting for its end'
    : 'the proxy that runs hands over in a way that this version does not know: waiting for its end'
}

function who(identity: ProxyIdentity | undefined, peer: Peer | undefined, clock: Clock) {
  if (identity === undefined) return { pid: peer?.pid }
  const { pid, version, mode, sinceMs } = identity
  return { pid, version, mode, since: new Date(Math.min(sinceMs, clock.now())).toISOString() }
}

async function untilGone(connection: LineConnection, signal: AbortSignal): Promise<void> {
  while ((await connection.line(lookSeldomMs, signal)) !== undefined);
}

/** Undefined: it ended before everything was here, and nothing has changed. */
async function takeOver(
  options: LockOptions,
  connection: LineConnection,
  identity: ProxyIdentity | undefined,
  signal: AbortSignal,
): Promise<HeldLock | undefined> {
  connection.send({ kind: 'coming', ...options.self })
  if (!(await isReadyBeforeEnd(options, connection, signal))) return undefined
  connection.send({ kind: 'hand over' })
  const named: NamedSocket[] = []
  for (;;) {
    const line = await connection.line(lookEveryMs, signal)
    const message = line === undefined ? undefined : parseFromRunning(line)
    if (message?.kind === 'sockets') named.push(...message.sockets)
    else if (message?.kind === 'yours') break
    else return undefined
  }
  const fds = connection.takeDescriptors()
  // The first is that of the lock.
  const [lock, ...others] = fds
  if (lock === undefined || fds.length !== named.length || identity === undefined) {
    for (const fd of fds) closeSync(fd)
    options.log.warn('not all sockets could be taken over: is the limit of open files high enough?', {
      sockets: named.length,
      received: fds.length,
    })
    return undefined
  }
  const sockets = named.slice(1).map((socket, index) => ({ ...socket, fd: others[index] ?? -1 }))
  return { fd: lock, predecessor: { connection: connection.moved(), identity, sockets } }
}

async function isReadyBeforeEnd(
  { untilReady }: LockOptions,
  connection: LineConnection,
  signal: AbortSignal,
): Promise<boolean> {
  const over = new AbortController()
  const either = AbortSignal.any([signal, over.signal])
  try {
    return await Promise.race([
      untilReady(either).then(() => true),
      // It has nothing to say until it is asked.
      connection.line(lookSeldomMs, either).then(() => false),
    ])
  } finally {
    over.abort()
  }
}
