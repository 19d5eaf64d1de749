/** Programs one IP family with iptables, rule for rule as kube-proxy does. */
import type { Backend, Change, Comparison, NodeView, RenderedPart, SyncReport } from '../../core/backend.ts'
import { inspectPieces } from '../../core/inspect-pieces.ts'
import type { Inspection, PlannedPiece } from '../../core/inspection.ts'
import { countsIfReadable } from '../../core/kept-traffic.ts'
import type { Logger } from '../../core/logger.ts'
import type { RouteKey } from '../../core/route.ts'
import { isSameData } from '../../core/same-data.ts'
import type { RouteTraffic } from '../../core/traffic.ts'
import { writeAllButRefused } from '../../core/sync/find-refused.ts'
import { Programming } from '../../core/sync/programming.ts'
import type { Knowledge, Programmed, SyncTask, Written } from '../../core/sync/programming.ts'
import type { Span, SpanAttributes } from '../../core/trace.ts'
import type { Iptables } from '../../dataplane/iptables/iptables.ts'
import { noCounters } from '../../dataplane/iptables/language/counters.ts'
import { findRefusedRoutes, isRefusal, rulesOnTrial } from '../../dataplane/iptables/language/refused-routes.ts'
import type { RestoreScript } from '../../dataplane/iptables/language/restore-input.ts'
import { allRulePieces, rulesLook } from '../../dataplane/iptables/language/rule-pieces.ts'
import { tracedIptables } from '../../dataplane/iptables/traced-iptables.ts'
import { nextTurn } from '../../dataplane/next-turn.ts'
import type { ChainWatch } from './chain-watch.ts'
import type { Damage } from './damage.ts'
import { editIptables } from './edit.ts'
import { findDamage } from './find-damage.ts'
import { fullInputs } from './full-input.ts'
import { routePieces } from './pieces.ts'
import { chainOptions, planIptables, routeRules, ruleCount, withRoutes } from './plan.ts'
import type { IptablesPlan } from './plan.ts'
import { renderPlan } from './render.ts'
import { repairInput } from './repair-input.ts'
import { readRuleset } from './ruleset.ts'
import type { Ruleset } from './ruleset.ts'
import type { SettingsSource } from './settings-source.ts'
import { touchedCounters } from './touched-counters.ts'
import type { TouchedCounters } from './touched-counters.ts'
import { TrafficCounts } from './traffic-counts.ts'
import type { IptablesSettings } from './settings.ts'

interface IptablesMetrics {
  /** How many rules of ours a table holds, and how many of them this sync wrote. */
  rules(table: 'filter' | 'nat', rules: { readonly total: number; readonly last: number }): void
  restoreFailed(sync: { readonly isFull: boolean }): void
}

export interface IptablesBackendOptions {
  readonly iptables: Iptables
  readonly settings: SettingsSource
  /** Notices what others do to our rules. Without it nothing is compared. */
  readonly drift: ChainWatch | undefined
  readonly metrics: IptablesMetrics
  /** Somebody wants to know how many connections each of this many routes gets. */
  readonly countsConnections?: (routes: number) => boolean
  readonly log: Logger
}

type Failures = SyncReport['failed']

export class IptablesBackend implements Backend {
  readonly name = 'iptables'
  readonly #options: IptablesBackendOptions
  readonly #programming: Programming<SyncTask, IptablesPlan, Damage>
  readonly #counts: TrafficCounts
  /** What was written last, also after a failure: says whose counters are there. */
  #lastPlan: IptablesPlan | undefined

  constructor(options: IptablesBackendOptions) {
    this.#options = options
    this.#counts = new TrafficCounts(options.iptables)
    this.#programming = new Programming<SyncTask, IptablesPlan, Damage>({
      edit: (known, task, signal) => this.#repairAndEdit(known, task, signal),
      rewrite: (task, known, signal) => this.#rewrite(task, known, signal),
      isRefusal,
    })
  }

  async sync(view: NodeView, change: Change, signal: AbortSignal, span?: Span): Promise<SyncReport> {
    const report = await this.#programming.sync({ view, change }, signal, span)
    this.#counts.forget(change.keys, view)
    return report
  }

  /** The tool prints all rules of the kernel. */
  readonly trafficEveryMs = 10_000

  async traffic(signal: AbortSignal): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    const plan = this.#lastPlan
    return plan === undefined || !this.#isCounting(plan) ? new Map() : this.#counts.read(plan, signal)
  }

  async watch(onDrift: (found: string) => void, signal: AbortSignal): Promise<void> {
    const onDamage = (damage: Damage) => {
      this.#programming.noteDamage(damage)
      onDrift(damage.found)
    }
    await this.#options.drift?.run(this.#programming, onDamage, signal)
  }

  pieces(key: RouteKey): Promise<readonly PlannedPiece[] | undefined> {
    return this.#programming.withWritten((plan) => {
      const pieces = routePieces(plan, key)
      return pieces && allRulePieces(pieces)
    })
  }

  inspect(key: RouteKey, signal: AbortSignal): Promise<Inspection | undefined> {
    return this.#programming.look((plan) => {
      const pieces = routePieces(plan, key)
      return pieces && inspectPieces([rulesLook(pieces, this.#options.iptables)], signal)
    })
  }

  compare(signal: AbortSignal): Promise<Comparison> {
    return this.#programming.compare(async (plan) => {
      const damage = await findDamage(plan, await readRuleset(this.#options.iptables, signal))
      return damage?.found
    })
  }

  rendered(): Promise<readonly RenderedPart[] | undefined> {
    return this.#programming.withWritten((plan) => [{ part: 'iptables', text: renderPlan(plan) }])
  }

  /** The rules stay: restarting the proxy must not disturb traffic. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve()
  }

  async #repairAndEdit(
    known: Written<IptablesPlan, Damage>,
    { view, change }: SyncTask,
    signal: AbortSignal,
  ): Promise<Programmed<IptablesPlan> | undefined> {
    const damage = damageIn(known)
    // When it is known what others did, putting that back makes everything right again.
    if (damage === undefined ? change.full : damage.isTotal) return undefined
    const settings = await this.#options.settings.current({ isFull: change.full }, signal)
    if (!isSameButForAddresses(known.plan.settings, settings)) return undefined
    const { steps } = this.#programming
    if (damage !== undefined) {
      const repair = repairInput(known.plan, damage)
      const all = new Map([...repair.touchedChains()].map((path) => [path, 'all' as const]))
      const send = () => this.#keepingCounts(all, () => this.#sendEdit(repair, signal), signal)
      await steps.apply(send, 'repair', { found: damage.found })
    }
    const { input, after } = steps.plan(
      () => editIptables(known.plan, { view, settings, keys: change.keys }),
      (edit) => ({ routes: change.keys.length, ...ruleCounts([edit.input]) }),
    )
    const touched = touchedCounters(known.plan, after, change.keys)
    if (!input.isEmpty)
      await steps.apply(() => this.#keepingCounts(touched, () => this.#sendEdit(input, signal), signal))
    return this.#finish(after, [input], [])
  }

  async #rewrite(
    { view, change }: SyncTask,
    before: Knowledge<IptablesPlan, Damage>,
    signal: AbortSignal,
  ): Promise<Programmed<IptablesPlan>> {
    const settings = await this.#options.settings.current({ isFull: true }, signal)
    // A table that was flushed is not worth reading again: what it lacks is known.
    const damage = damageIn(before)
    const known = damage?.isTotal === true ? damage.state : undefined
    const { steps } = this.#programming
    const planWith = (chosen: IptablesSettings) =>
      steps.plan(
        () => planIptables(view, chosen, change.full ? change.keys : undefined),
        ({ routesByKey }) => ({ routes: routesByKey.size }),
      )
    const [state, plan] = await Promise.all([
      known ?? steps.read(() => readRuleset(this.#options.iptables, signal)),
      // In the next turn the tool has been started, and reads while we plan.
      nextTurn().then(() => planWith(settings)),
    ])
    // A process that comes after another one finds everything as it should be, and touches nothing.
    const isRight = before.kind === 'unknown' && (await findDamage(plan, state)) === undefined
    if (isRight) return this.#leaveAll(plan)
    return this.#write(plan, state, planWith, signal)
  }

  async #leaveAll(plan: IptablesPlan): Promise<Programmed<IptablesPlan>> {
    await this.#options.drift?.ownRewrite(() => Promise.resolve())
    return this.#finish(plan, [], [])
  }

  async #write(
    plan: IptablesPlan,
    state: Ruleset,
    planWith: (settings: IptablesSettings) => IptablesPlan,
    signal: AbortSignal,
  ): Promise<Programmed<IptablesPlan>> {
    const { iptables, settings } = this.#options
    const { variant } = await iptables.features(signal)
    return writeAllButRefused({
      write: async (refused) => {
        const wanted = withRoutes(plan, new Map(refused.map(({ key }) => [key, undefined])))
        const { steps } = this.#programming
        const inputs = steps.plan(() => fullInputs(wanted, state, variant), ruleCounts, 'compare')
        await steps.apply(() => this.#keepingCounts(undefined, () => this.#sendAll(inputs, signal), signal))
        return this.#finish(wanted, inputs, refused)
      },
      isRefusal,
      findRefused: () => this.#findRefused(plan, signal),
      // Not a Service, then. Some kernels have counters, but no way for a rule to use them.
      withoutCulprit: async (error) => {
        if (!usesCounters(plan.settings)) throw error
        const uncounted = planWith({ ...plan.settings, counters: noCounters })
        const programmed = await this.#write(uncounted, state, planWith, signal)
        settings.giveUpCounters()
        return programmed
      },
    })
  }

  #findRefused({ settings, routesByKey, totals }: IptablesPlan, signal: AbortSignal): Promise<Failures> {
    const options = chainOptions(settings, totals.endpoints)
    const rulesOf = (key: RouteKey) => {
      const planned = routesByKey.get(key)
      return planned === undefined ? [] : rulesOnTrial(routeRules(planned.route, options))
    }
    return findRefusedRoutes(this.#options.iptables, { keys: routesByKey.keys(), rulesOf }, signal)
  }

  /** Rules begin to count at zero when they are written anew. `touched` undefined: all of them are. */
  async #keepingCounts(
    touched: TouchedCounters | undefined,
    write: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const plan = this.#lastPlan
    const counted =
      plan !== undefined && this.#isCounting(plan)
        ? await countsIfReadable(this.#counts.countsToKeep(plan, touched, signal), this.#options.log, signal)
        : undefined
    await write()
    if (counted !== undefined) this.#counts.keep(counted)
  }

  #isCounting({ routesByKey }: IptablesPlan): boolean {
    return this.#options.countsConnections?.(routesByKey.size) === true
  }

  async #sendEdit(input: RestoreScript, signal: AbortSignal): Promise<void> {
    const { drift } = this.#options
    const send = () => this.#restore(input, { isFull: false }, signal)
    await (drift === undefined ? send() : drift.ownEdit(input.touchedChains(), send, signal))
  }

  async #sendAll(inputs: readonly RestoreScript[], signal: AbortSignal): Promise<void> {
    const { drift } = this.#options
    const send = async () => {
      for (const input of inputs) await this.#restore(input, { isFull: true }, signal)
    }
    await (drift === undefined ? send() : drift.ownRewrite(send))
  }

  async #restore(input: RestoreScript, sync: { readonly isFull: boolean }, signal: AbortSignal): Promise<void> {
    try {
      await tracedIptables(this.#options.iptables, this.#programming.steps).restore(input.pieces(), signal)
    } catch (error) {
      if (!signal.aborted) this.#options.metrics.restoreFailed(sync)
      throw error
    }
  }

  #finish(plan: IptablesPlan, inputs: readonly RestoreScript[], failed: Failures): Programmed<IptablesPlan> {
    this.#lastPlan = plan
    const last = { filter: 0, nat: 0 }
    for (const table of ['filter', 'nat'] as const) {
      for (const input of inputs) last[table] += input.addedRules(table)
      this.#options.metrics.rules(table, { total: ruleCount(plan, table), last: last[table] })
    }
    return { plan, report: { facts: { filterRules: last.filter, natRules: last.nat }, failed } }
  }
}

function ruleCounts(inputs: readonly RestoreScript[]): SpanAttributes {
  const added = (table: 'filter' | 'nat') => inputs.reduce((sum, input) => sum + input.addedRules(table), 0)
  return { inputs: inputs.length, 'rules.filter': added('filter'), 'rules.nat': added('nat') }
}

function damageIn(known: Knowledge<IptablesPlan, Damage>): Damage | undefined {
  return known.kind === 'damaged' ? known.damage : undefined
}

function usesCounters({ counters }: IptablesSettings): boolean {
  return counters.invalidDropped || counters.localhostAccepted
}

/** Addresses of the node come and go, and touch only the last rules of one chain. */
function isSameButForAddresses(left: IptablesSettings, right: IptablesSettings): boolean {
  return isSameData({ ...left, nodePortIps: undefined }, { ...right, nodePortIps: undefined })
}
