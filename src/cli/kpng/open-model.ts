/** Fills a store with the state of the cluster, from the source that the command line names. */
import { access } from 'node:fs/promises'
import { Catalog } from '../../core/catalog.ts'
import type { Logger } from '../../core/logger.ts'
import { silentMetrics } from '../../core/proxy-metrics.ts'
import type { FlagValues } from '../../config/flags/flag.ts'
import { globProblem } from '../../kpng/model/label-globs.ts'
import type { GlobalStore } from '../../kpng/store/global-store.ts'
import type { MetricRegistry } from '../../observe/metrics/prometheus.ts'
import { FileSource } from '../../sources/file/file-source.ts'
import { Intake } from '../../sources/intake.ts'
import type { ObjectIntake } from '../../sources/kind-sink.ts'
import { KpngGlobalSource } from '../../sources/kpng/global-source.ts'
import { isStateFile, StateFileSource } from '../../sources/kpng/state-file-source.ts'
import { StoreIntake } from '../../sources/kpng/store-intake.ts'
import type { TravellingKeys } from '../../sources/kpng/store-intake.ts'
import { loadKubeAccess } from '../../sources/kube/access/kube-access.ts'
import { KubeClient } from '../../sources/kube/kube-client.ts'
import { KubeSource } from '../../sources/kube/kube-source.ts'
import { clusterQueries } from '../../sources/kube/reflector/resource-query.ts'
import type { Host } from '../host/host.ts'
import type { CoreTracing } from '../tracing/core-tracing.ts'
import { CommandError, fairleadVersion } from '../program.ts'
import type { Runnable } from '../run-all.ts'
import type { apiFlags, fileFlags, kubeFlags } from './kpng-flags.ts'
import { watchClientFor } from './watch-client-for.ts'

export type ModelSource =
  | { readonly kind: 'kube'; readonly values: FlagValues<typeof kubeFlags> }
  | { readonly kind: 'file'; readonly values: FlagValues<typeof fileFlags> }
  | { readonly kind: 'api'; readonly values: FlagValues<typeof apiFlags> }

export interface ModelContext {
  readonly store: GlobalStore
  readonly host: Host
  readonly log: Logger
  /** For the series about the connection to another KPNG server. */
  readonly registry: MetricRegistry
  readonly tracing: Pick<CoreTracing, 'tracer' | 'isSent'>
}

export async function openModel(source: ModelSource, context: ModelContext): Promise<Runnable> {
  switch (source.kind) {
    case 'kube':
      return kubeModel(source.values, context)
    case 'file':
      return fileModel(source.values, context)
    case 'api':
      return new KpngGlobalSource({
        ...context,
        client: await watchClientFor(source.values, { ...context, use: 'core' }),
      })
    default:
      return source satisfies never
  }
}

async function kubeModel(values: FlagValues<typeof kubeFlags>, context: ModelContext): Promise<Runnable> {
  const { clock, env } = context.host
  const log = context.log.child({ source: 'kubernetes' })
  const globs: TravellingKeys = {
    serviceLabels: checked(values['with-service-labels']),
    serviceAnnotations: checked(values['with-service-annotations']),
    nodeLabels: checked(values['with-node-labels']),
    nodeAnnotations: checked(values['with-node-annotations']),
  }
  const kubeAccess = await loadKubeAccess({ kubeconfig: values.kubeconfig, master: values.server, env, clock, log })
  // More than a node's proxy may ask: this process asks for all nodes.
  const client = new KubeClient({ access: kubeAccess, version: fairleadVersion(), qps: 50, burst: 100, clock })
  const intake = storeIntake(globs, 'kubernetes', { ...context, log })
  const source = new KubeSource({
    client,
    nodeName: '',
    queries: clusterQueries(values['service-proxy-name']),
    clock,
    log,
    usesStreamingLists: true,
    sinks: {
      Service: intake.sink('Service'),
      EndpointSlice: intake.sink('EndpointSlice'),
      Node: intake.sink('Node'),
      ServiceCIDR: intake.sink('ServiceCIDR'),
    },
  })
  return {
    async run(signal) {
      await using owned = client
      await source.run(signal)
      void owned
    },
  }
}

async function fileModel(values: FlagValues<typeof fileFlags>, context: ModelContext): Promise<Runnable> {
  if (values.input.length === 0)
    throw new CommandError('no objects: name files or folders of Kubernetes objects with --input=PATH')
  for (const path of values.input) await mustExist(path)
  const [first = ''] = values.input
  if (values.input.length === 1 && (await isStateFile(first)))
    return new StateFileSource({ ...context, clock: context.host.clock, path: first })
  const globs = { serviceLabels: [], serviceAnnotations: [], nodeLabels: ['*'], nodeAnnotations: [] }
  const log = context.log.child({ source: 'files' })
  return new FileSource({
    paths: values.input,
    intake: storeIntake(globs, 'files', context),
    clock: context.host.clock,
    log,
  })
}

/** Checked at the start only: later a path may vanish for a while, but one that was never there is a mistake. */
async function mustExist(path: string): Promise<void> {
  await access(path).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CommandError(`--input=${path} cannot be read: ${reason}`, { cause: error })
  })
}

/** The Catalog stays empty: only the parsing and its reports are needed. */
function storeIntake(globs: TravellingKeys, source: string, context: ModelContext): ObjectIntake {
  const { store, log, tracing, host } = context
  const intake = new Intake({ catalog: new Catalog(), log, metrics: silentMetrics })
  return new StoreIntake({ store, intake, globs, tracing: { ...tracing, source, clock: host.clock } })
}

function checked(globs: readonly string[]): readonly string[] {
  const problem = globProblem(globs)
  if (problem !== undefined) throw new CommandError(problem)
  return globs
}
