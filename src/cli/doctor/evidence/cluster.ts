/** The objects of the cluster, and what the proxy makes of them on this node. */
import type { NodeRecord, ObjectKey, ObjectKind } from '../../../api/records.ts'
import { objectKey, objectKinds } from '../../../api/records.ts'
import type { NodeView } from '../../../core/backend.ts'
import { Catalog } from '../../../core/catalog.ts'
import { silentLogger } from '../../../core/logger.ts'
import type { LogFields, Logger } from '../../../core/logger.ts'
import { nodeIps } from '../../../core/node/node-ips.ts'
import type { NodeIps } from '../../../core/node/node-ips.ts'
import { silentMetrics } from '../../../core/proxy-metrics.ts'
import { RouteTable } from '../../../core/routing/route-table.ts'
import type { ServiceNotice } from '../../../core/routing/service-notices.ts'
import { usualPolicy } from '../../../core/routing/serving-policy.ts'
import type { Family } from '../../../net/ip.ts'
import { FileSource } from '../../../sources/file/file-source.ts'
import { Intake } from '../../../sources/intake.ts'
import type { KindSink, ObjectIntake } from '../../../sources/kind-sink.ts'
import { loadKubeAccess } from '../../../sources/kube/access/kube-access.ts'
import { KubeClient } from '../../../sources/kube/kube-client.ts'
import { KubeError } from '../../../sources/kube/kube-error.ts'
import { listObjects } from '../../../sources/kube/reflector/list-objects.ts'
import { resourceQueries } from '../../../sources/kube/reflector/resource-query.ts'
import { configuredPolicy } from '../../configured-policy.ts'
import { apiServerAddresses } from '../../daemon/api-server-addresses.ts'
import type { Host } from '../../host/host.ts'
import type { Mode } from '../../modes/mode.ts'
import { fairleadVersion } from '../../program.ts'
import { CannotLook } from '../evidence.ts'
import type { Setup } from '../setup.ts'
import type { ApiPlace } from './api.ts'

export interface ClusterFacts {
  readonly catalog: Catalog
  /** For each family. */
  readonly views: readonly NodeView[]
  readonly notices: readonly ToldNotice[]
  /** Services whose endpoints somebody else has to write. */
  readonly withoutSelector: ReadonlySet<ObjectKey>
  /** Undefined: there is no such Node. */
  readonly node: NodeRecord | undefined
  readonly nodeIps: NodeIps['ips']
  /** All addresses of the machine. */
  readonly localAddresses: readonly string[]
  /** Objects that are ignored, in whole or in part, and why. */
  readonly problems: readonly { readonly object: string; readonly text: string }[]
}

interface ToldNotice extends ServiceNotice {
  readonly family: Family
  readonly service: ObjectKey
}

export interface ClusterPlace extends ApiPlace {
  readonly mode: Mode
  readonly nodeAddresses: readonly string[]
}

export async function readCluster(
  setup: Setup,
  place: ClusterPlace,
  host: Pick<Host, 'env' | 'clock' | 'exec' | 'lookup' | 'localAddresses' | 'platform' | 'process'>,
  signal: AbortSignal,
): Promise<ClusterFacts> {
  const catalog = new Catalog()
  const problems: { object: string; text: string }[] = []
  const log = problemLogger((fields) =>
    problems.push({
      object: typeof fields['object'] === 'string' ? fields['object'] : 'an object',
      text: [fields['field'], fields['reason']].filter(Boolean).map(String).join(': '),
    }),
  )
  const intake = new Intake({ catalog, log, metrics: silentMetrics })
  const selectors = new SelectorNotes(intake)
  const apiServers = place.isFromFiles
    ? await fromFiles(setup.objects, selectors, host)
    : await fromApi(setup.nodeName, place, selectors, host, signal)
  const node = catalog.nodes.get(objectKey({ name: setup.nodeName }))
  const ips = place.nodeAddresses.length > 0 ? place.nodeAddresses : (node?.ips ?? [])
  const { ips: addresses, primaryFamily } = nodeIps({ ips, bindAddress: setup.config.bindAddress })
  const modePlace = { host, nodeIp: addresses[primaryFamily], localIps: () => host.localAddresses() }
  const notices: ToldNotice[] = []
  const policy = {
    ...usualPolicy,
    ...configuredPolicy(setup.config, place.mode.abilities),
    allowLoopback: place.mode.allowsLoopbackAt?.(modePlace) ?? false,
    endpointRules: place.mode.endpointRules,
    apiServers,
  }
  const views: NodeView[] = []
  for (const family of setup.families) {
    const abilities = await abilitiesAt(place.mode, host, family, signal)
    const told = (_: Family, service: ObjectKey, all: readonly ServiceNotice[]) =>
      void notices.push(...all.map((notice) => ({ ...notice, family, service })))
    const table = new RouteTable({
      catalog,
      family,
      nodeName: setup.nodeName,
      nodeIP: addresses[family],
      policy: { ...policy, abilities },
      notices: { tell: told },
      metrics: silentMetrics,
      startedAtMs: 0,
    })
    views.push(table.take({ full: true }).view)
  }
  return {
    catalog,
    views,
    notices,
    withoutSelector: selectors.withoutSelector,
    node,
    nodeIps: addresses,
    localAddresses: host.localAddresses(),
    problems,
  }
}

/** What keeps the tools from answering is for other checks to find. */
async function abilitiesAt(mode: Mode, host: Pick<Host, 'exec' | 'clock'>, family: Family, signal: AbortSignal) {
  try {
    return (await mode.abilitiesAt?.(host, family, signal)) ?? mode.abilities
  } catch (error) {
    if (signal.aborted) throw error
    return mode.abilities
  }
}

async function fromFiles(paths: readonly string[], intake: ObjectIntake, { clock }: Pick<Host, 'clock'>) {
  if (paths.includes('-')) throw new CannotLook('--objects=- is standard input, which the daemon reads', 'Name a file.')
  const [problem] = await new FileSource({ paths, intake, log: silentLogger, clock }).load()
  if (problem !== undefined) throw new CannotLook(problem)
  return []
}

const patienceMs = 60_000

async function fromApi(
  nodeName: string,
  place: ClusterPlace,
  intake: ObjectIntake,
  host: Pick<Host, 'env' | 'clock' | 'lookup'>,
  signal: AbortSignal,
) {
  const { env, clock } = host
  const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)])
  try {
    const access = await loadKubeAccess({ ...place, env, clock, log: silentLogger })
    await using client = new KubeClient({ access, clock, version: fairleadVersion(), qps: -1 })
    const queries = resourceQueries(nodeName)
    await Promise.all(
      objectKinds.map(async (kind) => {
        if (kind === 'Namespace' && !place.readsNamespaces) return
        const sink = intake.sink(kind)
        const read = (object: unknown) => sink.read(object)
        try {
          // From the cache of the server: a look must cost it little.
          const { items } = await listObjects({ client, query: queries[kind], notOlderThan: '0', read }, patience)
          sink.replace(items)
        } catch (error) {
          const reason = error instanceof KubeError ? error.reason : undefined
          const isAbsent = reason === 'not-found' && queries[kind].mayBeAbsent === true
          // The proxy goes on without them, too.
          if (!isAbsent && !(reason === 'forbidden' && kind === 'Namespace')) throw error
          sink.replace([])
        }
      }),
    )
    return await apiServerAddresses(await access.server(), host, silentLogger)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof KubeError) throw new CannotLook(error.message, undefined, { cause: error })
    throw patience.aborted ? new CannotLook(`no complete list in ${patienceMs / 1000} s`) : error
  }
}

/** Records do not keep the selector, because no rule depends on it; here it is part of the answer. */
class SelectorNotes implements ObjectIntake {
  readonly withoutSelector = new Set<ObjectKey>()
  readonly #intake: Intake

  constructor(intake: Intake) {
    this.#intake = intake
  }

  sink(kind: ObjectKind): KindSink {
    const sink = this.#intake.sink(kind) as KindSink
    if (kind !== 'Service') return sink
    return {
      ...sink,
      read: (object) => {
        const { metadata, spec } = object as RawService
        if (metadata?.name !== undefined && Object.keys(spec?.selector ?? {}).length === 0)
          this.withoutSelector.add(objectKey({ namespace: metadata.namespace ?? 'default', name: metadata.name }))
        return sink.read(object)
      },
    }
  }
}

interface RawService {
  readonly metadata?: { readonly namespace?: string; readonly name?: string }
  readonly spec?: { readonly selector?: Readonly<Record<string, string>> | null }
}

function problemLogger(onWarning: (fields: LogFields) => void): Logger {
  const log: Logger = { ...silentLogger, warn: (_, fields = {}) => onWarning(fields), child: () => log }
  return log
}
