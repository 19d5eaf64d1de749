/** Where the objects come from, seen from the daemon: a cluster or files, with what differs between the two. */
import { stat } from 'node:fs/promises'
import type { ApiServerAddress } from '../../core/routing/address-claims.ts'
import type { Catalog } from '../../core/catalog.ts'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { isGateOn } from '../../config/feature-gates.ts'
import type { ProxyConfig } from '../../config/proxy-config.ts'
import type { RestClientMetrics } from '../../observe/metrics/rest-client-metrics.ts'
import type { SourceMetrics } from '../../observe/metrics/source-metrics.ts'
import { FileSource } from '../../sources/file/file-source.ts'
import { standardInput } from '../../sources/file/manifest-folder.ts'
import type { Intake } from '../../sources/intake.ts'
import { KubeClient } from '../../sources/kube/kube-client.ts'
import { loadKubeAccess } from '../../sources/kube/access/kube-access.ts'
import { KubeSource } from '../../sources/kube/kube-source.ts'
import type { WatchClient, WatchStatus } from '../../kpng/client/watch-client.ts'
import { CommandError } from '../program.ts'
import type { Runnable } from '../run-all.ts'
import { apiServerAddresses } from './api-server-addresses.ts'

export interface ObjectSource extends Runnable, AsyncDisposable {
  /** Complete lists of Services and EndpointSlices have come from it (not from saved state). */
  isLive(): boolean
  /** When each kind was last heard of; empty for files. */
  status(): ReadonlyMap<string, { readonly lastContactMs: number | undefined }>
  /** For `/healthz?verbose`. */
  detail(): Readonly<Record<string, unknown>>
  /** How the connection to a KPNG server is; undefined for other sources. */
  readonly core?: () => WatchStatus
  /** The API server to write Events to; undefined for files. */
  readonly client: KubeClient | undefined
  /** Where Fairlead reaches the API server; empty for files. */
  readonly apiServers: readonly ApiServerAddress[]
}

/** A KPNG server that computes what this node has to program. */
export interface ApiSource {
  readonly target: string
  /** The server does not know them. */
  readonly serviceCidrs: readonly string[]
  client(log: Logger): Promise<WatchClient>
}

export interface SourceContext {
  readonly config: ProxyConfig
  readonly api?: ApiSource
  readonly objects: readonly string[]
  readonly master: string
  readonly nodeName: string
  readonly version: string
  readonly intake: Intake
  readonly catalog: Catalog
  readonly metrics: SourceMetrics
  readonly requestMetrics: RestClientMetrics
  readonly clock: Clock
  readonly log: Logger
}

export async function openSource(context: SourceContext): Promise<ObjectSource> {
  if (context.api !== undefined) return apiSource(context.api, context)
  return context.objects.length > 0 ? fileSource(context) : kubeSource(context)
}

async function apiSource(api: ApiSource, { intake, nodeName, catalog, log }: SourceContext): Promise<ObjectSource> {
  const { KpngLocalSource } = await import('../../sources/kpng/local-source.ts')
  const { serviceCidrs } = api
  const source = new KpngLocalSource({ client: await api.client(log), nodeName, serviceCidrs, intake, log })
  return {
    client: undefined,
    apiServers: [],
    run: (signal) => source.run(signal),
    isLive: () => catalog.isInitialised,
    status: () => new Map([['KPNG', source.status()]]),
    core: () => source.status(),
    detail: () => ({ kpng: { target: api.target, ...source.status() } }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

async function fileSource({ objects, intake, catalog, clock, log }: SourceContext): Promise<ObjectSource> {
  for (const path of objects) await mustExist(path)
  const source = new FileSource({ paths: objects, intake, clock, log: log.child({ source: 'files' }) })
  return {
    client: undefined,
    apiServers: [],
    run: (signal) => source.run(signal),
    isLive: () => catalog.isInitialised,
    status: () => new Map(),
    detail: () => ({ files: objects }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

/** A path may vanish later and come back; one that was never there is a mistake. */
async function mustExist(path: string): Promise<void> {
  if (path === standardInput) return
  try {
    await stat(path)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CommandError(`--objects=${path} cannot be read: ${reason}; name a file or a directory that exists`, {
      cause: error,
    })
  }
}

async function kubeSource(context: SourceContext): Promise<ObjectSource> {
  const { config, master, nodeName, version, intake, metrics, clock } = context
  const log = context.log.child({ source: 'kubernetes' })
  const { kubeconfig, qps, burst } = config.clientConnection
  const access = await loadKubeAccess({ kubeconfig, master, clock, log })
  const client = new KubeClient({ access, version, qps, burst, clock, metrics: context.requestMetrics })
  const source = new KubeSource({
    client,
    nodeName,
    clock,
    log,
    metrics,
    usesStreamingLists: isGateOn(config.featureGates, 'WatchListClient'),
    sinks: {
      Service: intake.sink('Service'),
      EndpointSlice: intake.sink('EndpointSlice'),
      Node: intake.sink('Node'),
      ServiceCIDR: intake.sink('ServiceCIDR'),
    },
  })
  const hasSynced = (kind: 'Service' | 'EndpointSlice') => source.status().get(kind)?.hasSynced ?? false
  return {
    client,
    apiServers: await apiServerAddresses(await access.server(), log),
    run: (signal) => source.run(signal),
    isLive: () => hasSynced('Service') && hasSynced('EndpointSlice'),
    status: () => source.status(),
    detail: () => ({ watches: Object.fromEntries(source.status()) }),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  }
}
