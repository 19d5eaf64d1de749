/**
 * A small Kubernetes API server in this process, with the objects that a service proxy needs, for the demo and the
 * tests. Real kubectl and our own reflector talk to it. It has no users and no TLS, so it stays on loopback unless told
 * otherwise.
 */
import { randomInt, randomUUID } from 'node:crypto'
import type { Clock } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import { hostPort, isLoopback, isUnspecified, parseIp } from '../net/ip.ts'
import { defaultServiceCidrs, ServiceAllocator } from './cluster/allocator.ts'
import type { PortRange } from './cluster/allocator.ts'
import { bootstrap } from './cluster/bootstrap.ts'
import { ApiServerError } from './api-server-error.ts'
import { openFront } from './http/front.ts'
import type { Front } from './http/front.ts'
import { requestHandler } from './http/handler.ts'
import { Kinds } from './verbs/kinds.ts'
import type { WriteContext } from './verbs/write.ts'
import { mirrorStoredEndpoints } from './cluster/endpoints-mirror.ts'
import { openJournal } from './journal/recovery.ts'
import type { ResourceType } from './resource.ts'
import { Store } from './store/store.ts'

export interface ApiServerOptions {
  readonly resources: readonly ResourceType[]
  readonly clock: Clock
  readonly log: Logger
  /** An IP address; 127.0.0.1 by default. */
  readonly host?: string
  /** Any free port by default. */
  readonly port?: number
  /** Everybody who can reach the address can read and write everything. */
  readonly allowNonLoopback?: boolean
  /** Keeps the objects over restarts. */
  readonly dataDir?: string
  /** At the same time; half of them may be watches. 512 by default. */
  readonly maxConnections?: number
  /** How many changes per kind a watch may lag behind before it gets 410; 10,000 by default. */
  readonly historySize?: number
  readonly bookmarkIntervalMs?: number
  /** False refuses sendInitialEvents, as old servers do. */
  readonly hasStreamingLists?: boolean
  readonly serviceCidrs?: readonly string[]
  readonly nodePorts?: PortRange
  /** False leaves Endpoints alone, as a real API server without its controllers does. */
  readonly mirrorsEndpoints?: boolean
  /** What /version says, e.g. `v1.36.0`. */
  readonly version?: string
  /** When the journal is larger than this, it is replaced by a snapshot. */
  readonly compactAboveBytes?: number
}

export interface ApiServer extends AsyncDisposable {
  readonly url: string
  /** The revision that the next list will carry. */
  readonly revision: number
  /** Forgets all history, as a compaction of etcd does: requests for an older revision get 410. */
  compact(): void
  /** From now on nobody reaches it; when this is disposed of, it listens at the same place again, with the same objects. */
  outage(): Promise<AsyncDisposable>
}

export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const host = checkedHost(options)
  const { dataDir, log, compactAboveBytes = 4 * 1024 * 1024 } = options
  if (dataDir === undefined) return serve(options, host, undefined)
  const disk = await openJournal({ directory: dataDir, log, compactAboveBytes })
  try {
    return await serve(options, host, disk)
  } catch (error) {
    await disk.journal[Symbol.asyncDispose]()
    throw error
  }
}

async function serve(options: ApiServerOptions, host: string, disk: Disk | undefined): Promise<ApiServer> {
  const { clock, log, historySize = 10_000, maxConnections = 512, serviceCidrs = defaultServiceCidrs } = options
  const kinds = new Kinds(options.resources)
  const allocator = new ServiceAllocator(options.nodePorts)
  const collections = kinds.all.map((kind) => kind.collection)
  const store = new Store({ historySize, observer: allocator.observe, kinds: collections, log, ...disk })
  const context: WriteContext = { allocator, now: () => clock.now(), newUid: randomUUID, nameSuffix }
  const open = (port: number) =>
    openFront({ host, port, maxConnections }, (signal) =>
      requestHandler({
        store,
        kinds,
        context,
        clock,
        log,
        bookmarkIntervalMs: options.bookmarkIntervalMs ?? 60_000,
        hasStreamingLists: options.hasStreamingLists ?? true,
        version: options.version ?? 'v1.36.0',
        isOnLoopback: isLoopback(host),
        maxWatches: Math.ceil(maxConnections / 2),
        signal,
        random: Math.random,
      }),
    )
  let front: Front | undefined = await open(options.port ?? 0)
  const { port } = front
  let mirror: AsyncDisposable | undefined
  const stop = async () => {
    const closing = front?.close('gently')
    await mirror?.[Symbol.asyncDispose]()
    await closing
    await store.settled()
  }
  const reachableHost = isUnspecified(host) ? loopbackOfSameFamily(host) : host
  const url = `http://${hostPort(reachableHost, port)}`
  try {
    await bootstrap({ store, kinds, context, log, serviceCidrs, host: reachableHost, port })
    if (options.mirrorsEndpoints ?? true) mirror = mirrorStoredEndpoints({ store, kinds, context, log })
  } catch (error) {
    await stop()
    throw error
  }
  log.info('the embedded API server is listening', { url })
  return {
    url,
    get revision() {
      return store.revision
    },
    compact: () => store.forgetHistory(),
    async outage() {
      await front?.close('at once')
      front = undefined
      return {
        async [Symbol.asyncDispose]() {
          front ??= await open(port)
        },
      }
    },
    async [Symbol.asyncDispose]() {
      await stop()
      await disk?.journal[Symbol.asyncDispose]()
    },
  }
}

type Disk = Awaited<ReturnType<typeof openJournal>>

function checkedHost({ host = '127.0.0.1', allowNonLoopback = false }: ApiServerOptions): string {
  const ip = parseIp(host === 'localhost' ? '127.0.0.1' : host)
  if (ip === undefined)
    throw new ApiServerError('address-not-allowed', `cannot listen on "${host}": give an IP address, such as 127.0.0.1`)
  if (!isLoopback(ip) && !allowNonLoopback)
    throw new ApiServerError(
      'address-not-allowed',
      `refusing to listen on ${ip}: the embedded API server has no authentication, so anyone who reaches it can ` +
        `change everything; use 127.0.0.1, or allow other addresses explicitly`,
    )
  return ip
}

/** A server on all addresses can also be reached on loopback. */
function loopbackOfSameFamily(host: string): string {
  return host === '::' ? '::1' : '127.0.0.1'
}

/** No vowels, so that no words come out. */
const suffixLetters = 'bcdfghjklmnpqrstvwxz2456789'

function nameSuffix(): string {
  return Array.from({ length: 5 }, () => suffixLetters[randomInt(suffixLetters.length)]).join('')
}
