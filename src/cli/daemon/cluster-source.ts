/** Where the daemon's objects come from: a cluster, files or a KPNG server, behind one interface. */
import { stat } from 'node:fs/promises'
import type { ApiServerAddress } from '../../core/routing/address-claims.ts'
import type { Catalog } from '../../core/catalog.ts'
import type { Logger } from '../../core/logger.ts'
import type { parsePodWeight } from '../../api/parse-pod-weight.ts'
import { isGateOn } from '../../config/feature-gates.ts'
import type { Cidr } from '../../net/ip.ts'
import { FileSource } from '../../sources/file/file-source.ts'
import { standardInput } from '../../sources/file/manifest-folder.ts'
import { Intake } from '../../sources/intake.ts'
import type { KindSink } from '../../sources/kind-sink.ts'
import { KubeClient } from '../../sources/kube/kube-client.ts'
import { loadKubeAccess } from '../../sources/kube/access/kube-access.ts'
import { KubeSource } from '../../sources/kube/kube-source.ts'
import type { ReflectorStatus } from '../../sources/kube/reflector/reflector-journal.ts'
import type { WatchClient, WatchStatus } from '../../kpng/client/watch-client.ts'
import { podWeightQuery, podWeightSink } from '../../sources/kube/pod-weight-sink.ts'
import { Reflector } from '../../sources/kube/reflector/reflector.ts'
import { PodWeights } from '../../core/care/pod-weights.ts'
import { CommandError } from '../program.ts'
import { runAll } from '../run-all.ts'
import type { Runnable } from '../run-all.ts'
import { apiServerAddresses } from './api-server-addresses.ts'
import type { ClusterParts, Daemon } from './daemon.ts'

export interface ObjectSource extends Runnable, AsyncDisposable {
  /** Complete lists of Services and EndpointSlices have come from it (not from saved state). */
  isLive(): boolean
  /** For people: `the API server at https://…`, `files in …`. */
  readonly from: string
  /** Of each kind of object; empty for files. */
  status(): ReadonlyMap<string, SourceStatus>
  /** For `/healthz?verbose`. */
  detail(): Readonly<Record<string, unknown>>
  /** The state of the connection, where a KPNG server is followed. */
  readonly core?: () => WatchStatus
  /** Labels of pods, where they are read. */
  readonly podWeights?: PodWeights
  /** The API server to write Events to, where there is one. */
  readonly client: KubeClient | undefined
  /** Where Fairlead reaches the API server; empty for files. */
  readonly apiServers: readonly ApiServerAddress[]
}

export interface SourceStatus {
  /** When the server last sent something. */
  readonly lastContactMs: number | undefined
  /** What has kept it from sending more since, as part of a sentence. */
  readonly trouble?: string | undefined
}

/** A KPNG server that computes what this node has to program. */
export interface ApiSource {
  readonly target: string
  /** From the command line, because the server does not tell them. */
  readonly serviceCidrs: readonly Cidr[]
  client(log: Logger): Promise<WatchClient>
}

type SourceDaemon = Pick<
  Daemon,
  | 'config'
  | 'running'
  | 'api'
  | 'objects'
  | 'master'
  | 'longestPauseMs'
  | 'readsPodWeights'
  | 'version'
  | 'host'
  | 'log'
>

type SourceCluster = Pick<ClusterParts, 'nodeName' | 'catalog' | 'metrics' | 'tracing' | 'firstLists'>

interface SourceContext extends SourceDaemon, SourceCluster {
  readonly intake: Intake
}

/** The source fills the catalog while it runs. */
export async function openSource(daemon: SourceDaemon, cluster: SourceCluster): Promise<ObjectSource> {
  const { catalog, metrics, tracing } = cluster
  const source = daemon.api !== undefined ? 'kpng' : daemon.objects.length > 0 ? 'files' : 'kubernetes'
  const events = { tracer: tracing.recorder, clock: daemon.host.clock, source }
  const intake = new Intake({ catalog, log: daemon.log, metrics: metrics.proxy, tracing: events })
  const context: SourceContext = { ...daemon, ...cluster, intake }
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
    from: `the KPNG server at ${api.target}`,
    status: () =>
      new Map([['KPNG', { ...source.status(), trouble: source.status().isConnected ? undefined : 'no connection' }]]),
    core: () => source.status(),
    detail: () => ({ kpng: { target: api.target, ...source.status() } }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

async function fileSource({ objects, intake, catalog, host, log }: SourceContext): Promise<ObjectSource> {
  for (const path of objects) await mustExist(path)
  const source = new FileSource({ paths: objects, intake, clock: host.clock, log: log.child({ source: 'files' }) })
  return {
    client: undefined,
    apiServers: [],
    run: (signal) => source.run(signal),
    isLive: () => catalog.isInitialised,
    from: objects.join(', '),
    status: () => new Map(),
    detail: () => ({ files: objects }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

/** Checked at the start only: later a path may vanish for a while, but one that was never there is a mistake. */
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
  const { config, master, longestPauseMs, nodeName, version, intake, catalog, metrics, host } = context
  const { clock, env } = host
  const log = context.log.child({ source: 'kubernetes' })
  const { kubeconfig, qps, burst } = config.clientConnection
  const access = await loadKubeAccess({ kubeconfig, master, env, clock, log })
  const client = new KubeClient({ access, version, qps, burst, clock, metrics: metrics.requests })
  const shared = {
    client,
    clock,
    log,
    metrics: metrics.source,
    usesStreamingLists: isGateOn(context.running.config.featureGates, 'WatchListClient'),
    ...(longestPauseMs !== undefined && { longestPauseMs }),
  }
  const podWeights = context.readsPodWeights ? new PodWeights(catalog) : undefined
  const pods =
    podWeights && new Reflector({ ...shared, query: podWeightQuery, sink: awaitedPodSink(podWeights, catalog, log) })
  const source = new KubeSource({
    ...shared,
    nodeName,
    mayReadLarge: context.firstLists.mayBeRead,
    sinks: {
      Service: intake.sink('Service'),
      EndpointSlice: intake.sink('EndpointSlice'),
      Node: intake.sink('Node'),
      ServiceCIDR: intake.sink('ServiceCIDR'),
      ...(config.fairlead.externalIPGuardNamespaces && { Namespace: namespaceSink(context, log) }),
    },
  })
  const server = await access.server()
  const hasSynced = (kind: 'Service' | 'EndpointSlice') => source.status().get(kind)?.hasSynced ?? false
  return {
    client,
    from: `the API server at ${server.origin}`,
    apiServers: await apiServerAddresses(server, host, log),
    ...(podWeights && { podWeights }),
    run: (signal) => runAll(pods === undefined ? [source] : [source, pods], signal),
    isLive: () => hasSynced('Service') && hasSynced('EndpointSlice') && catalog.isInitialised,
    status: () =>
      new Map(
        [...source.status(), ...(pods ? [['Pod', pods.status()] as const] : [])].map(([kind, it]) => [
          kind,
          { ...it, trouble: troubleOf(it) },
        ]),
      ),
    detail: () => ({ watches: Object.fromEntries(source.status()) }),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  }
}

/** A pod that is drained must not get connections at each start, until its label is known. */
export function awaitedPodSink(
  weights: PodWeights,
  catalog: Catalog,
  log: Logger,
): KindSink<ReturnType<typeof parsePodWeight>> {
  const sink = podWeightSink(weights, log)
  return {
    ...sink,
    replace(pods) {
      sink.replace(pods)
      catalog.podsListed()
    },
    // The reflector says so.
    forbidden: () => catalog.podsListed(),
  }
}

/** Without the right to read them the node must not wait for ever: then the flags hold for all. */
function namespaceSink({ intake, catalog }: SourceContext, log: Logger): KindSink {
  const sink = intake.sink('Namespace')
  return {
    ...sink,
    forbidden() {
      if (catalog.hasListed('Namespace')) return
      log.error(
        'annotations of Namespaces are not read: --external-ip-guard-namespaces needs the verbs list and watch on namespaces; until then --external-ip-guard and --external-ip-cidrs hold for all of them',
      )
      sink.replace([])
    },
  }
}

/** A watch that is open again has ended it; a quiet server may say nothing for a minute. */
function troubleOf({ lastError, isConnected }: ReflectorStatus): string | undefined {
  return isConnected ? undefined : lastError
}
