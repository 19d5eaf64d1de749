/** Programs one IP family with the kernel's load balancer, IP sets and a fixed number of iptables rules. */
import type { Backend, Change, NodeView, SyncReport } from '../../core/backend.ts'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { RouteKey } from '../../core/route.ts'
import { Programming } from '../../core/sync/programming.ts'
import type { Programmed, SyncTask } from '../../core/sync/programming.ts'
import { cidrContains, parseCidr } from '../../net/ip.ts'
import type { Cidr } from '../../net/ip.ts'
import { readKernelState } from '../../dataplane/iptables/language/kernel-state.ts'
import { carryOut } from './carry-out.ts'
import { Draining } from './draining.ts'
import type { DriftWatch } from './drift-watch.ts'
import type { Expected } from './find-drift.ts'
import { Failures } from './failures.ts'
import { ipSetOf, setIds } from './ip-sets.ts'
import { ipvsLink } from './ipvs-link.ts'
import { readKernel, writtenFrom } from './kernel.ts'
import type { Kernel } from './kernel.ts'
import { nodeAddresses } from './node-addresses.ts'
import { planIpvs } from './plan.ts'
import type { IpvsPlan } from './plan.ts'
import { planRoute } from './route-plan.ts'
import type { FixedSettings } from './settings.ts'
import { everything, Touched } from './touched.ts'
import { Surprise } from './work.ts'
import type { IpvsMetrics, Work } from './work.ts'

export interface IpvsBackendOptions {
  readonly kernel: Kernel
  readonly settings: FixedSettings
  /** Notices what others do to our state; undefined: nobody looks. */
  readonly drift: DriftWatch | undefined
  readonly metrics: IpvsMetrics
  readonly clock: Clock
  readonly log: Logger
}

/** Another object after each change. */
interface Written extends Expected {
  readonly plan: IpvsPlan
  readonly leftovers: Touched
}

/** How often endpoints that shall go are looked at. */
const sweepEveryMs = 60_000

export class IpvsBackend implements Backend {
  readonly name = 'ipvs'
  readonly #options: IpvsBackendOptions
  readonly #excluded: readonly Cidr[]
  readonly #draining: Draining
  readonly #programming: Programming<SyncTask, Written>
  #hasRepairedWeights = false

  constructor(options: IpvsBackendOptions) {
    this.#options = options
    this.#excluded = options.settings.excludeCidrs.flatMap((text) => parseCidr(text) ?? [])
    this.#draining = new Draining({ ipvs: options.kernel.ipvs, log: options.log })
    this.#programming = new Programming<SyncTask, Written>({
      edit: ({ plan: known }, task, signal) => this.#edit(known, task, signal),
      rewrite: (task, _known, signal) => this.#rewrite(task, signal),
      isRefusal: (error) => error instanceof Surprise,
      onRefusedEdit: (error) => options.log.warn('somebody else changed the kernel; reading it again', { error }),
    })
  }

  sync(view: NodeView, change: Change, signal: AbortSignal): Promise<SyncReport> {
    return this.#programming.sync({ view, change }, signal)
  }

  /** Also deletes endpoints whose last connection has ended. */
  async watch(onDrift: (found: string) => void, signal: AbortSignal): Promise<void> {
    await Promise.all([this.#options.drift?.run(this.#programming, onDrift, signal), this.#sweepNowAndThen(signal)])
  }

  /** Kernel state stays: restarting the proxy must not disturb traffic. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve()
  }

  async #sweepNowAndThen(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    const sweep = async () => {
      await this.#draining.sweep(signal)
      this.#programming.replaceWritten((written) => ({ ...written }))
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
    known: Written,
    { view, change }: SyncTask,
    signal: AbortSignal,
  ): Promise<Programmed<Written> | undefined> {
    if (change.full) return undefined
    const { plan, written } = known
    const touched = new Touched()
    touched.addLeftovers(known.leftovers)
    for (const key of change.keys) {
      const route = view.routesByKey.get(key)
      plan.set(key, route && planRoute(route, plan.settings), touched)
    }
    return this.#carryOut({ plan, written, touched, rules: undefined }, change.keys, signal)
  }

  async #rewrite({ view, change }: SyncTask, signal: AbortSignal): Promise<Programmed<Written>> {
    const { kernel, settings: fixed } = this.#options
    const { family } = fixed
    await kernel.addresses.ensureDummy(ipvsLink, signal)
    await kernel.ipset.ensure(
      setIds.map((id) => ipSetOf(id, family)),
      signal,
    )
    const { hasRandomFully } = await kernel.iptables.features(signal)
    const found = await readKernel(kernel, family, signal)
    const rules = await readKernelState(kernel.iptables, signal)
    this.#draining.keepFound(found.servers)
    const settings = { ...fixed, hasRandomFully, ...this.#nodeAddresses(found.otherIps) }
    const plan = planIpvs(view, settings, change.full ? change.keys : undefined)
    // Later on a weight that somebody set by hand is theirs; kube-proxy does the same.
    const repairsWeights = !this.#hasRepairedWeights
    const written = writtenFrom(found, { family, draining: this.#draining, repairsWeights })
    const touched = everything(plan, written)
    const programmed = await this.#carryOut({ plan, written, touched, rules }, plan.routesByKey.keys(), signal)
    this.#hasRepairedWeights = true
    return programmed
  }

  async #carryOut(
    part: Pick<Work, 'plan' | 'written' | 'touched' | 'rules'>,
    keys: Iterable<RouteKey>,
    signal: AbortSignal,
  ): Promise<Programmed<Written>> {
    const { kernel, metrics, log } = this.#options
    const { plan, written, touched } = part
    const isExcluded = (ip: string) => this.#excluded.some((cidr) => cidrContains(cidr, ip))
    const work: Work = {
      ...part,
      kernel,
      draining: this.#draining,
      failures: new Failures(),
      leftovers: new Touched(),
      isExcluded,
      counts: { operations: 0, entries: 0, addresses: 0, rules: 0 },
      metrics,
      log,
    }
    await carryOut(work, signal)
    return {
      plan: {
        plan,
        settings: plan.settings,
        written,
        draining: this.#draining,
        leftovers: work.leftovers,
        isExcluded,
        nodeAddresses: (otherIps) => this.#nodeAddresses(otherIps),
      },
      report: {
        facts: { ...work.counts, draining: this.#draining.size },
        failed: work.failures.report(plan, keys, touched.servers),
      },
    }
  }

  #nodeAddresses(otherIps: readonly string[]): ReturnType<typeof nodeAddresses> {
    const { family, nodePortAddresses } = this.#options.settings
    return nodeAddresses(otherIps, family, nodePortAddresses)
  }
}
