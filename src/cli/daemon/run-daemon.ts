/** The one place where the parts of the daemon are put together; everything else is handed what it needs. */
import { cpus } from 'node:os'
import { isGateOn } from '../../config/feature-gates.ts'
import { type LoadedFile, watchConfigFile } from '../../config/file/config-file-watch.ts'
import type { ProxyConfig } from '../../config/proxy-config.ts'
import { checkFamilies, nodePortWarnings } from '../../config/validation/family-checks.ts'
import { Catalog } from '../../core/catalog.ts'
import { systemClock } from '../../core/clock.ts'
import { nodeIps, type NodeIps } from '../../core/node/node-ips.ts'
import { expandPrimary } from '../../core/node/node-port-addresses.ts'
import { ProxyHealth } from '../../core/health/proxy-health.ts'
import type { ServingPolicy } from '../../core/routing/serving-policy.ts'
import { ToldNotices } from '../../core/routing/told-notices.ts'
import { connectionsFor } from '../../http/connection-limit.ts'
import { openFilesLimit } from '../../dataplane/relay/descriptor-budget.ts'
import { lendRelay } from '../../dataplane/relay/shared-relay.ts'
import type { UserspaceOptions } from '../../dataplane/relay/open-relay.ts'
import { processExec } from '../../dataplane/exec/exec.ts'
import { iptablesOfHost } from '../../dataplane/iptables/find-iptables.ts'
import { applyConntrackSettings } from '../../dataplane/sysctl/conntrack-settings.ts'
import { fileSysctl } from '../../dataplane/sysctl/file-sysctl.ts'
import { setOomScore } from '../../dataplane/sysctl/oom-score.ts'
import { type Family, isLoopback } from '../../net/ip.ts'
import type { RootLogger } from '../../observe/logging/create-logger.ts'
import { addKpngCoreSeries } from '../../observe/metrics/kpng-metrics.ts'
import { addSourceContact } from '../../observe/metrics/source-metrics.ts'
import { addConnectionMetrics, type CountedView } from '../../observe/metrics/connection-metrics.ts'
import { addTrafficMetrics, type CarriedView } from '../../observe/metrics/traffic-metrics.ts'
import { addViewMetrics } from '../../observe/metrics/view-metrics.ts'
import { Intake } from '../../sources/intake.ts'
import { StateKeeper } from '../../sources/saved/state-keeper.ts'
import { thisHost } from '../cleanup/cleanup-host.ts'
import { OtherModes } from '../cleanup/remove-other-modes.ts'
import type { Mode, ModeContext, NodeAtHand, RunnableMode } from '../modes/mode.ts'
import { CommandError } from '../program.ts'
import { runAll, type Runnable } from '../run-all.ts'
import { openSource, type ApiSource, type ObjectSource } from './cluster-source.ts'
import { daemonEvents } from './daemon-events.ts'
import { daemonMetrics, type DaemonMetrics } from './daemon-metrics.ts'
import { daemonServers } from './daemon-servers.ts'
import { familyProxy, type FamilyProxy } from './family-proxy.ts'
import { supportedFamilies } from './ip-families.ts'
import { localAddresses } from './local-addresses.ts'
import { findNode, nodeNameOf } from './node-at-start.ts'
import { nodeGuard } from './node-guard.ts'
import { closedNodePortWarnings } from './node-port-check.ts'
import { startFromSavedState, type SavedStart } from './saved-start.ts'

export interface Daemon {
  readonly config: ProxyConfig
  readonly mode: Mode
  /** Files and directories to read objects from; empty: a cluster. */
  readonly objects: readonly string[]
  /** A KPNG server to follow, instead of a cluster or files. */
  readonly api?: ApiSource
  readonly master: string
  /** The configuration file that was loaded, to be watched. */
  readonly file: LoadedFile | undefined
  readonly stateDir: string
  readonly serviceSeriesLimit: number
  readonly strictSourceRanges: boolean
  readonly userspace: UserspaceOptions
  readonly nodeAddresses: readonly string[]
  /** Only prepare the machine, then end. */
  readonly isInitOnly: boolean
  /** Every flag with its value, for `/flagz`. */
  readonly flags: Readonly<Record<string, string>>
  readonly version: string
  readonly platform: NodeJS.Platform
  readonly log: RootLogger
}

interface Parts {
  readonly nodeName: string
  readonly catalog: Catalog
  readonly metrics: DaemonMetrics
  readonly source: ObjectSource
  readonly saved: SavedStart
}

/** Resolves when the signal has aborted and everything has ended (or, with `isInitOnly`, when the set-up is done). */
export async function runDaemon(daemon: Daemon, signal: AbortSignal): Promise<void> {
  const { config, log, platform } = daemon
  const clock = systemClock
  const nodeName = nodeNameOf(config.hostnameOverride)
  const metrics = daemonMetrics({ mode: config.mode, featureGates: config.featureGates, platform })
  const catalog = new Catalog()
  const intake = new Intake({ catalog, log, metrics: metrics.proxy })
  await using source = await openSource({
    ...daemon,
    nodeName,
    intake,
    catalog,
    metrics: metrics.source,
    requestMetrics: metrics.requests,
    clock,
  })
  const saved = await startFromSavedState(daemon.stateDir, { catalog, clock, log })

  const done = new AbortController()
  const proxy: Runnable = {
    async run(running) {
      await runProxy(daemon, { nodeName, catalog, metrics, source, saved }, running)
      done.abort()
    },
  }
  await runAll([source, proxy], AbortSignal.any([signal, done.signal]))
}

async function runProxy(daemon: Daemon, parts: Parts, signal: AbortSignal): Promise<void> {
  const { config, log } = daemon
  const { nodeName, catalog, metrics, source } = parts
  const isNodeCidrMode = config.detectLocalMode === 'NodeCIDR'
  const node = await findNode(
    {
      catalog,
      nodeName,
      nodeAddresses: daemon.nodeAddresses,
      isFromFiles: daemon.objects.length > 0 || daemon.api !== undefined,
      isNodeCidrMode,
      clock: systemClock,
      log,
    },
    signal,
  )
  const addresses = nodeIps({ ips: node?.ips ?? [], bindAddress: config.bindAddress })
  if (isLoopback(addresses.ips[addresses.primaryFamily]))
    log.info('the node has no address of its own; using a loopback address', { node: nodeName })
  const context: ModeContext = {
    config,
    nodePortAddresses: expandPrimary(config.nodePortAddresses, addresses.ips),
    podCIDRs: node?.podCIDRs ?? [],
    localIps: localAddresses,
    listen: { kind: 'loopback' },
    serviceSeriesLimit: daemon.serviceSeriesLimit,
    borrowRelay: lendRelay(async (use) => {
      const { openRelay } = await import('../../dataplane/relay/open-relay.ts')
      return openRelay({ ...daemon.userspace, ...use, log, clock: systemClock })
    }),
    iptablesOf: iptablesOfHost({ exec: processExec, clock: systemClock, log }),
    metrics: metrics.families,
    clock: systemClock,
    log,
  }
  const mode = daemon.mode.onNode?.(nodeAtHand(daemon, addresses), context) ?? daemon.mode
  const families = await familiesToProxy(daemon, mode, addresses, context, signal)
  await applySystemSettings(daemon, mode)
  await mode.prepare(context)
  if (daemon.isInitOnly) return
  await setOomScore(
    {
      score: config.oomScoreAdj,
      self: fileSysctl({ root: '/proc/self', needs: 'CAP_SYS_RESOURCE' }),
      clock: systemClock,
      log,
    },
    signal,
  )

  const events = daemonEvents(source.client, { nodeName, log })
  events.started()
  const health = new ProxyHealth({ clock: systemClock, timeoutMs: 2 * config.syncPeriodMs })
  const policy: ServingPolicy = {
    allowExternalIPs: isGateOn(config.featureGates, 'AllowServiceExternalIPs'),
    strictSourceRanges: daemon.strictSourceRanges,
    allowLoopback: !mode.usesKernel,
    apiServers: source.apiServers,
  }
  const notices = new ToldNotices({
    log,
    metrics: metrics.proxy,
    onNotice: (service, reason, text) => events.serviceNotice(service, reason, text),
  })
  const maxConnections = connectionsFor(openFilesLimit())
  const proxies: FamilyProxy[] = []
  const otherModes = new OtherModes({ mode: config.mode, families: families.length, openHost: thisHost, log })
  for (const family of families) {
    const { backend, afterSync } = await mode.createBackend(family, context, signal)
    proxies.push(
      familyProxy({
        family,
        backend,
        afterSync: [...afterSync, otherModes.afterSync()],
        catalog,
        nodeName,
        nodeIP: addresses.ips[family],
        policy,
        notices,
        nodePortAddresses: context.nodePortAddresses,
        localIps: localAddresses,
        periods: { minMs: config.minSyncPeriodMs, retryMs: config.syncPeriodMs, maxMs: hourMs },
        health,
        hasHealthServer: config.healthzBindAddress !== '',
        metrics: metrics.proxy,
        maxConnections,
        onHealthPortFailure: (port, note) => events.healthPortFailed(port, note),
        clock: systemClock,
        log,
      }),
    )
  }
  addViewMetrics(metrics.registry, () => proxies.map((proxy) => proxy.view()))
  addConnectionMetrics(metrics.registry, () => countedViews(proxies, daemon.serviceSeriesLimit, signal))
  addTrafficMetrics(metrics.registry, () => carriedViews(proxies, daemon.serviceSeriesLimit))
  addSourceContact(metrics.registry, systemClock, () => source.status())
  if (source.core !== undefined) addKpngCoreSeries(metrics.registry, systemClock, source.core)
  const servers = daemonServers({
    config,
    version: daemon.version,
    flags: daemon.flags,
    health,
    detail: () => ({ ...startDetail(parts), ...source.detail() }),
    metrics,
    maxConnections,
    clock: systemClock,
    log,
    onBindFailure: (reason, error) => events.bindFailed(reason, error.message),
  })
  const guard = nodeGuard({ catalog, nodeName, node, isNodeCidrMode, health, log })
  // A mode without rules of its own has nothing to put in their place.
  const cleaning = mode.usesKernel ? [otherModes] : []
  const others = [...cleaning, ...configWatch(daemon), ...stateKeeper(daemon, parts)]
  await runAll([events, guard, ...servers, ...proxies, ...others], signal)
}

function nodeAtHand({ platform }: Daemon, { ips, primaryFamily }: NodeIps): NodeAtHand {
  return { ip: ips[primaryFamily], platform, isRoot: process.getuid?.() === 0 }
}

const hourMs = 60 * 60 * 1000

/** Nothing above the limit: a scrape must stay small. */
async function countedViews(
  proxies: readonly FamilyProxy[],
  limit: number,
  signal: AbortSignal,
): Promise<readonly CountedView[]> {
  if (seriesOf(proxies) > limit) return []
  return Promise.all(
    proxies.map(async (proxy) => ({ view: proxy.view(), connections: await proxy.connections(signal) })),
  )
}

function carriedViews(proxies: readonly FamilyProxy[], limit: number): readonly CarriedView[] {
  if (seriesOf(proxies) > limit) return []
  return proxies.map((proxy) => ({ view: proxy.view(), traffic: proxy.traffic() }))
}

function seriesOf(proxies: readonly FamilyProxy[]): number {
  return proxies.reduce((sum, proxy) => sum + proxy.view().routesByKey.size, 0)
}

/** Says what does not fit together, and refuses to start where it cannot work. */
async function familiesToProxy(
  { config, platform, log }: Daemon,
  mode: RunnableMode,
  { primaryFamily }: NodeIps,
  context: ModeContext,
  signal: AbortSignal,
): Promise<readonly Family[]> {
  const candidates = supportedFamilies(platform)
  const areSupported = await Promise.all(candidates.map((family) => mode.supports(family, context, signal)))
  const families = candidates.filter((_, index) => areSupported[index])
  if (!families.includes(primaryFamily)) {
    const missing = await mode.whatIsMissing?.(primaryFamily, context, signal)
    const reason = missing ?? 'the machine does not support it, or the tools of the mode cannot run'
    throw new CommandError(
      `no support for primary IP family "${primaryFamily}" in mode ${mode.name}: ${reason}; ` +
        'or choose another mode with --proxy-mode',
    )
  }
  const isDualStack = families.length === 2
  log.info(isDualStack ? 'proxying both IP families' : 'proxying one IP family', { primaryFamily })
  const facts = { podCidrs: context.podCIDRs, primaryFamily }
  const expanded = { ...config, nodePortAddresses: context.nodePortAddresses }
  const { warnings, fatal } = checkFamilies(config, { ...facts, isDualStack })
  // Without rules of the kernel nothing is open but loopback, whatever nodePortAddresses says.
  const nodePorts = mode.usesKernel
    ? [
        ...nodePortWarnings(expanded, facts),
        ...closedNodePortWarnings(context.nodePortAddresses, families, context.localIps()),
      ]
    : []
  for (const warning of [...nodePorts, ...warnings]) log.warn('configuration', { warning })
  if (fatal !== undefined) throw new CommandError(fatal)
  return families
}

/** The kernel modes cannot work well without these; plain sockets can, and change nothing of the machine. */
async function applySystemSettings({ config, platform, log }: Daemon, mode: RunnableMode): Promise<void> {
  if (platform !== 'linux' || !mode.usesKernel) return
  try {
    await applyConntrackSettings(config.conntrack, {
      sysctl: fileSysctl({ root: '/proc/sys' }),
      moduleParameters: fileSysctl({ root: '/sys/module' }),
      cpus: cpus().length,
      log,
    })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CommandError(`could not set conntrack parameters from kube-proxy configuration: ${reason}`, {
      cause: error,
    })
  }
}

function startDetail({ saved, source }: Parts): Readonly<Record<string, unknown>> {
  if (saved.savedAtMs === undefined || source.isLive())
    return { state: source.isLive() ? 'live' : 'waiting for the first list' }
  return { state: 'saved', savedAt: new Date(saved.savedAtMs).toISOString() }
}

/** There is no live reload: whoever supervises the process starts it again with the new content. */
function configWatch({ file }: Daemon): readonly Runnable[] {
  if (file === undefined) return []
  return [
    {
      async run(signal) {
        const change = await watchConfigFile({ file }, signal)
        if (change !== undefined) throw new CommandError(change.message, { cause: change })
      },
    },
  ]
}

function stateKeeper({ stateDir, log }: Daemon, { catalog, saved }: Parts): readonly Runnable[] {
  if (stateDir === '') return []
  return [
    new StateKeeper({ folder: stateDir, catalog, isRestored: saved.savedAtMs !== undefined, clock: systemClock, log }),
  ]
}
