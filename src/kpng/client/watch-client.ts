/**
 * Follows a KPNG server: requests a change set, has it applied, requests the next. While the server is away, nothing
 * changes; when it is back, the first change set is a complete one.
 */
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import type { ChannelCredentials, ClientDuplexStream } from '@grpc/grpc-js'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { GlobalWatchReq } from '../proto/generated/globalv1/api.ts'
import { OpItem, WatchReq } from '../proto/generated/localv1/api.ts'
import { causesHeader, readCauses } from '../wire/causes.ts'
import type { Cause } from '../wire/causes.ts'
import { globalWatchPath, localWatchPath, unscopedHeader } from '../wire/grpc-names.ts'
import { refusePlaintext } from '../plaintext.ts'
import type { TlsSource } from '../../http/tls/tls-source.ts'
import { addressOf, channelTarget } from './api-target.ts'
import { ChangeSetReader } from './change-set.ts'
import type { ChangeSet } from './change-set.ts'

export interface WatchClientOptions {
  /** See parseApiTarget. */
  readonly target: string
  /** Plaintext without it. */
  readonly tls: TlsSource | undefined
  /** Even from another machine: whoever controls the network can then decide what we program. */
  readonly allowsPlaintext: boolean
  readonly maxMessageBytes: number
  /** What this program calls itself, before what gRPC says: `fairlead/0.1.0 (nftables)`. */
  readonly userAgent?: string
  readonly clock: Clock
  /** From 0 to 1, so that many clients do not retry at the same moment. */
  readonly random: () => number
  readonly log: Logger
}

export type Watch =
  | {
      readonly api: 'local'
      readonly node: string
      /** Endpoints that no traffic may use on the node as well; only Fairlead's server sends them. */
      readonly wantsUnscoped: boolean
      /** What in the server caused each change, for traces; only Fairlead's server tells it. */
      readonly wantsCauses?: boolean
    }
  | { readonly api: 'global' }

export interface WatchStatus {
  readonly isConnected: boolean
  /** How often the connection was opened again. */
  readonly reconnects: number
  /** When the last change set was applied (Unix milliseconds). */
  readonly lastContactMs: number | undefined
}

const firstPauseMs = 200
const longestPauseMs = 5_000
/** A Go server takes more frequent pings for an attack. */
const keepaliveMs = 5 * 60_000

export class WatchClient {
  readonly #options: WatchClientOptions
  #isConnected = false
  #connections = 0
  #lastContactMs: number | undefined

  constructor(options: WatchClientOptions) {
    if (options.tls === undefined && !options.allowsPlaintext) refusePlaintext(addressOf(options.target), 'follow')
    this.#options = options
  }

  status(): WatchStatus {
    const reconnects = Math.max(0, this.#connections - 1)
    return { isConnected: this.#isConnected, reconnects, lastContactMs: this.#lastContactMs }
  }

  /** Runs until the signal aborts. If `apply` throws, the stream is restarted, so the whole state comes again. */
  async follow(watch: Watch, apply: (changes: ChangeSet) => Promise<void> | void, signal: AbortSignal): Promise<void> {
    const { target, tls, clock, random, log } = this.#options
    let client = this.#newClient()
    let pauseMs = firstPauseMs
    let connections = 0
    try {
      while (!signal.aborted) {
        const reason = await this.#stream(client, watch, apply, signal)
        if (signal.aborted) return
        if (this.#connections > connections) pauseMs = firstPauseMs
        connections = this.#connections
        log.warn('no contact with the KPNG server; the last state stays in use', { target, reason, pauseMs })
        await clock.sleep(pauseMs * (0.5 + random() / 2), signal).catch(() => {})
        pauseMs = Math.min(2 * pauseMs, longestPauseMs)
        if (tls?.refresh() === true) {
          client.close()
          client = this.#newClient()
        }
      }
    } finally {
      this.#isConnected = false
      client.close()
    }
  }

  #newClient(): Client {
    const { target, tls, maxMessageBytes, userAgent } = this.#options
    return new Client(channelTarget(target), channelCredentials(tls), {
      ...(userAgent !== undefined && { 'grpc.primary_user_agent': userAgent }),
      'grpc.max_receive_message_length': maxMessageBytes,
      'grpc.keepalive_time_ms': keepaliveMs,
      // With a proxy from the environment, traffic within this machine would leave it.
      'grpc.enable_http_proxy': tls === undefined ? 0 : 1,
      'grpc.initial_reconnect_backoff_ms': firstPauseMs,
      'grpc.min_reconnect_backoff_ms': firstPauseMs,
      'grpc.max_reconnect_backoff_ms': longestPauseMs,
    })
  }

  /** Resolves with why the stream ended. Even a regular end says nothing about the state. */
  #stream(
    client: Client,
    watch: Watch,
    apply: (changes: ChangeSet) => Promise<void> | void,
    signal: AbortSignal,
  ): Promise<string> {
    const { log, clock, target } = this.#options
    const call = open(client, watch)
    const reader = new ChangeSetReader()
    // Only one change set is applied at a time: the next stream waits for the work of this one.
    let applying = Promise.resolve()
    let hasEnded = false
    return new Promise((resolve) => {
      const end = (reason: string) => {
        hasEnded = true
        this.#isConnected = false
        signal.removeEventListener('abort', onAbort)
        call.cancel()
        void applying.then(() => resolve(reason))
      }
      const onAbort = () => end('stopped')
      signal.addEventListener('abort', onAbort, { once: true })
      const onChangeSet = async (changes: ChangeSet) => {
        await apply(changes)
        if (hasEnded) return
        if (!this.#isConnected) {
          log.info('following a KPNG server', { target })
          this.#connections++
        }
        this.#isConnected = true
        this.#lastContactMs = clock.now()
        if (!signal.aborted) call.write(requestOf(watch))
      }
      call.on('data', ({ item, causes }: Received) => {
        const changes = reader.push(item, causes)
        if (changes !== undefined)
          applying = applying
            .then(() => (hasEnded ? undefined : onChangeSet(changes)))
            .catch((error: unknown) => end(textOf(error)))
      })
      call.on('error', (error) => end(error.message))
      call.on('end', () => end('the server ended the stream'))
      call.write(requestOf(watch))
    })
  }
}

interface Received {
  readonly item: OpItem
  readonly causes: readonly Cause[]
}

type WatchCall = ClientDuplexStream<Uint8Array, Received>

function open(client: Client, watch: Watch): WatchCall {
  const metadata = new Metadata()
  const wantsCauses = watch.api === 'local' && watch.wantsCauses === true
  if (watch.api === 'local' && watch.wantsUnscoped) metadata.set(unscopedHeader, 'true')
  if (wantsCauses) metadata.set(causesHeader, 'true')
  return client.makeBidiStreamRequest(
    watch.api === 'local' ? localWatchPath : globalWatchPath,
    (request: Uint8Array) => Buffer.from(request),
    (bytes: Buffer) => {
      const item = OpItem.decode(bytes)
      return { item, causes: wantsCauses && item.Op?.$case === 'Sync' ? readCauses(bytes) : [] }
    },
    metadata,
  )
}

function requestOf(watch: Watch): Uint8Array {
  return watch.api === 'local' ? WatchReq.encode({ NodeName: watch.node }).finish() : GlobalWatchReq.encode({}).finish()
}

function channelCredentials(tls: TlsSource | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure()
  const { ca = null, key, cert } = tls.current
  return credentials.createSsl(ca, key, cert)
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
