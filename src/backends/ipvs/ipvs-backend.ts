/** Programs one IP family with the kernel's load balancer, IP sets and a fixed number of iptables rules. */
import type { Backend, Change, Comparison, NodeView, RenderedPart, SyncReport } from '../../core/backend.ts'
import type { Clock } from '../../core/clock.ts'
import type { Inspection, PlannedPiece } from '../../core/inspection.ts'
import type { Logger } from '../../core/logger.ts'
import type { RouteKey } from '../../core/route.ts'
import type { RouteTraffic } from '../../core/traffic.ts'
import { Programming } from '../../core/sync/programming.ts'
import type { Programmed, SyncTask } from '../../core/sync/programming.ts'
import { isSameData } from '../../core/same-data.ts'
import type { Span, SpanAttributes } from '../../core/trace.ts'
import { readKernelState } from '../../dataplane/iptables/language/kernel-state.ts'
import { cidrContains, parseCidr } from '../../net/ip.ts'
import { commit } from './commit.ts'
import { ChangedByOthers, failedRoutes } from './committed.ts'
import type { IpvsMetrics } from './committed.ts'
import { Draining } from './draining.ts'
import type { DriftWatch } from './drift-watch.ts'
import { editIpvs, rewriteIpvs } from './edit.ts'
import type { IpvsEdit } from './edit.ts'
import { findDrift, findRuleDrift } from './find-drift.ts'
import type { Expected } from './find-drift.ts'
import { GivenWeights } from './given-weights.ts'
import type { Written } from './held.ts'
import { inspectRoute } from './inspect.ts'
import { ipSetOf, setIds } from './ip-sets.ts'
import { ipvsLink } from './ipvs-link.ts'
import { heldAsFound, readKernel } from './kernel.ts'
import type { Kernel } from './kernel.ts'
import { nodeAddresses } from './node-addresses.ts'
import { allPieces, routePieces } from './pieces.ts'
import type { RoutePieces } from './pieces.ts'
import { planIpvs } from './plan.ts'
import { TrafficCounts } from './traffic-counts.ts'
import type { IpvsPlan } from './plan.ts'
import { renderPlan } from './render.ts'
import type { EditContext } from './server-edit.ts'
import type { FixedSettings } from './settings.ts'
import { tracedKernel } from './traced-kernel.ts'

export interface IpvsBackendOptions {
  readonly kernel: Kernel
  /** As of the sync that runs. */
  readonly settings: () => FixedSettings
  /** Notices what others do to our state; undefined: nobody looks. */
  readonly drift: DriftWatch | undefined
  readonly metrics: IpvsMetrics
  readonly clock: Clock
  readonly log: Logger
}

/** How often endpoints that shall go are looked at. */
const sweepEveryMs = 60_000

export class IpvsBackend implements Backend {
  readonly name = 'ipvs'
  readonly #options: IpvsBackendOptions
  readonly #draining: Draining
  readonly #weights = new GivenWeights()
  readonly #toldSchedulers = new Set<string>()
  readonly #counts: TrafficCounts
  readonly #context: EditContext
  readonly #programming: Programming<SyncTask, Expected>
  /** Whose changes the trace of a sync shows. */
  readonly #kernel: Kernel
  /** What the last rewrite was made from. */
  #settings: FixedSettings | undefined
  /** What was written last, also during a sync and after a failure: says whose counters are there. */
  #lastPlan: IpvsPlan | undefined

  constructor(options: IpvsBackendOptions) {
    this.#options = options
    this.#counts = new TrafficCounts(options.kernel.ipvs)
    const excluded = options.settings().excludeCidrs.flatMap((text) => parseCidr(text) ?? [])
    const isExcluded = (ip: string) => excluded.some((cidr) => cidrContains(cidr, ip))
    this.#programming = new Programming<SyncTask, Expected>({
      edit: ({ plan: { written } }, task, signal) => this.#edit(written, task, signal),
      rewrite: (task, _known, signal) => this.#rewrite(task, signal),
      isRefusal: (error) => error instanceof ChangedByOthers,
      onRefusedEdit: (error) => options.log.warn('somebody else changed the kernel; reading it again', { error }),
    })
    this.#kernel = tracedKernel(options.kernel, this.#programming.steps)
    this.#draining = new Draining({ ipvs: this.#kernel.ipvs, log: options.log })
    this.#context = { draining: this.#draining, isExcluded }
  }

  async sync(view: NodeView, change: Change, signal: AbortSignal, span?: Span): Promise<SyncReport> {
    const report = await this.#programming.sync({ view, change }, signal, span)
    this.#counts.forget(change.keys, view)
    return report
  }

  /** It takes a question for each virtual server. */
  readonly trafficEveryMs = 10_000

  traffic(signal: AbortSignal): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    return this.#counts.read((id) => this.#lastPlan?.claimsById.get(id)?.[0]?.key, signal)
  }

  /** Also deletes endpoints whose last connection has ended. */
  async watch(onDrift: (found: string) => void, signal: AbortSignal): Promise<void> {
    await Promise.all([this.#options.drift?.run(this.#programming, onDrift, signal), this.#sweepNowAndThen(signal)])
  }

  pieces(key: RouteKey): Promise<readonly PlannedPiece[] | undefined> {
    return this.#programming.withWritten(({ written: { plan } }) => {
      const pieces = this.#piecesOf(plan, key)
      return pieces && allPieces(pieces)
    })
  }

  inspect(key: RouteKey, signal: AbortSignal): Promise<Inspection | undefined> {
    return this.#programming.look(({ written: { plan } }) => {
      const pieces = this.#piecesOf(plan, key)
      return pieces && inspectRoute(pieces, this.#options.kernel, signal)
    })
  }

  compare(signal: AbortSignal): Promise<Comparison> {
    const { kernel, settings } = this.#options
    return this.#programming.compare(async (expected) => {
      const found = await readKernel(kernel, settings().family, signal)
      const drift = await findDrift(expected, found)
      return drift ?? findRuleDrift(expected, await readKernelState(kernel.iptables, signal))
    })
  }

  rendered(): Promise<readonly RenderedPart[] | undefined> {
    return this.#programming.withWritten(({ written: { plan } }) => renderPlan(plan))
  }

  /** Kernel state stays: restarting the proxy must not disturb traffic. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve()
  }

  #piecesOf(plan: IpvsPlan, key: RouteKey): RoutePieces | undefined {
    return routePieces(plan, key, (id) => this.#draining.addressesOf(id))
  }

  async #sweepNowAndThen(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    const sweep = async () => {
      await this.#draining.sweep(signal)
      // The drift watch must not take what it read before for what is there now.
      this.#programming.replaceWritten((expected) => ({ ...expected }))
    }
    while (!signal.aborted) {
      await clock.sleep(sweepEveryMs, signal).catch(() => {})
      if (this.#draining.size === 0 || signal.aborted) continue
      await this.#programming.inTurn(sweep).catch((error: unknown) => {
        if (!signal.aborted) log.warn('cannot check the endpoints that are draining', { error })
      })
    }
  }

  async #edit(
    before: Written,
    { view, change }: SyncTask,
    signal: AbortSignal,
  ): Promise<Programmed<Expected> | undefined> {
    if (change.full || !isSameData(this.#settings, this.#options.settings())) return undefined
    const edit = () => editIpvs(before, view, change.keys, this.#context)
    return this.#commit(this.#programming.steps.plan(edit, editCounts), signal)
  }

  async #rewrite({ view, change }: SyncTask, signal: AbortSignal): Promise<Programmed<Expected>> {
    const fixed = (this.#settings = this.#options.settings())
    const kernel = this.#kernel
    const { steps } = this.#programming
    const { family } = fixed
    await steps.apply(async () => {
      await kernel.addresses.ensureDummy(ipvsLink, signal)
      await kernel.ipset.ensure(
        setIds.map((id) => ipSetOf(id, family)),
        signal,
      )
    }, 'prepare')
    const { hasRandomFully } = await kernel.iptables.features(signal)
    const { found, rules } = await steps.read(async () => ({
      found: await readKernel(kernel, family, signal),
      rules: await readKernelState(kernel.iptables, signal),
    }))
    this.#draining.keepFound(found.servers)
    const held = heldAsFound(found, { family, draining: this.#draining, weights: this.#weights })
    const settings = { ...fixed, hasRandomFully, ...this.#nodeAddresses(found.otherIps) }
    const keys = change.full ? change.keys : [...view.routesByKey.keys()]
    const plan = steps.plan(
      () => planIpvs(view, settings, keys),
      () => ({ routes: keys.length }),
    )
    const edit = steps.plan(() => rewriteIpvs(held, rules, plan, keys, this.#context), editCounts, 'compare')
    const programmed = await this.#commit(edit, signal)
    this.#weights.areKnown = true
    return programmed
  }

  async #commit(edit: IpvsEdit, signal: AbortSignal): Promise<Programmed<Expected>> {
    const { metrics, log } = this.#options
    const draining = this.#draining
    const shared = { draining, weights: this.#weights, toldSchedulers: this.#toldSchedulers }
    const context = { kernel: this.#kernel, ...shared, metrics, log }
    const committed = await this.#programming.steps.apply(() => commit(edit, context, signal))
    const written = committed.written(edit)
    this.#lastPlan = written.plan
    return {
      plan: {
        ...this.#context,
        written,
        nodeAddresses: (otherIps) => this.#nodeAddresses(otherIps),
      },
      report: {
        facts: { ...committed.counts, draining: draining.size },
        failed: failedRoutes(edit, committed),
      },
    }
  }

  #nodeAddresses(otherIps: readonly string[]): ReturnType<typeof nodeAddresses> {
    const { family, nodePortAddresses } = this.#settings ?? this.#options.settings()
    return nodeAddresses(otherIps, family, nodePortAddresses)
  }
}

function editCounts({ servers, unwantedServers, addresses, entries }: IpvsEdit): SpanAttributes {
  return {
    servers: servers.length,
    'servers.unwanted': unwantedServers.length,
    addresses: addresses.added.length + addresses.removed.length,
    entries: entries.length,
  }
}
