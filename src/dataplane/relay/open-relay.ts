/** Chooses the engine for this machine. */
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { nativeRelay, nativeRelayAdvice, relayWorker } from '../../host/own-files.ts'
import { lackedCapabilities } from '../capabilities.ts'
import { NativeRelay } from './native/native-relay.ts'
import { SplitRelay } from './native/split-relay.ts'
import { NodeRelay } from './node/node-relay.ts'
import type { OnConnection } from './connection-report.ts'
import type { Relay, RelaySettings } from './relay.ts'
import { ThreadedRelay } from './threads/threaded-relay.ts'

/** What an operator may choose about the relay. */
export interface UserspaceOptions {
  /** Threads that carry the connections; 0: one per core. */
  readonly workers: number
  /** `auto`: the native engine where it is built and runs, else Node's own sockets. */
  readonly engine: 'auto' | 'native' | 'node'
  /** How long connections may outlive their endpoint or Service; undefined: until they end. */
  readonly drainTimeoutMs: number | undefined
  /** Of so many connections one is reported, and those that fail as far as they are few; 0: none. */
  readonly reportOneIn?: number
}

export interface OpenRelayOptions extends UserspaceOptions {
  readonly log: Logger
  readonly clock: Clock
  /** Endpoints may ask to see the client's address. */
  readonly mayBeTransparent: boolean
  readonly onConnection?: OnConnection
}

const usualReports = 1_000

/** UDP is always carried by Node's sockets: a datagram is no stream that the kernel could move by itself. */
export async function openRelay(options: OpenRelayOptions, platform = process.platform): Promise<Relay> {
  const onNode = () => openNodeRelay(options)
  if (platform !== 'linux' && options.engine === 'native')
    throw new Error('--userspace-engine=native works on Linux only: use node, or auto, which chooses it here')
  if (platform !== 'linux' || options.engine === 'node') {
    options.log.info('TCP connections are relayed by Node.js')
    return onNode()
  }
  const native = await openNativeRelay(options)
  if (native === undefined) return onNode()
  const isTransparent = options.mayBeTransparent && lackedCapabilities(['CAP_NET_RAW']).length === 0
  return new SplitRelay({ tcp: native, udp: onNode(), isTransparent })
}

async function openNativeRelay(options: OpenRelayOptions): Promise<NativeRelay | undefined> {
  const { log, engine, workers: wanted } = options
  const workers = wanted > 0 ? wanted : availableParallelism()
  try {
    if (!existsSync(nativeRelay)) throw new Error(`${nativeRelay} does not exist: ${nativeRelayAdvice}`)
    const relay = await NativeRelay.start({
      ...options,
      workers,
      program: nativeRelay,
      settings: settingsOf(options),
    })
    log.info('TCP connections are relayed by the native engine', { threads: workers })
    return relay
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    if (engine === 'native')
      throw new Error(`--userspace-engine=native, but the native engine does not start: ${reason}`, { cause })
    log.info('the native engine does not start; connections are relayed by Node.js, which is slower', { reason })
    return undefined
  }
}

function openNodeRelay({ workers, ...options }: OpenRelayOptions): Relay {
  const settings = settingsOf(options)
  const cores = availableParallelism()
  const threads = workers > 0 || cores === 1 ? workers : cores
  if (threads === 0) return new NodeRelay({ ...options, settings })
  const program = relayWorker()
  if (program === undefined) {
    options.log.debug(1, 'connections are relayed by the main thread: the program of the worker threads does not exist')
    return new NodeRelay({ ...options, settings })
  }
  return new ThreadedRelay({ ...options, threads, program, settings })
}

type Chosen = Pick<OpenRelayOptions, 'drainTimeoutMs' | 'reportOneIn'>

function settingsOf({ drainTimeoutMs, reportOneIn = usualReports }: Chosen): Partial<RelaySettings> {
  return { drainTimeoutMs, reportOneIn }
}
