/** Programs one IP family with iptables, rule for rule as kube-proxy does. */
import type { Backend, Change, NodeView, SyncReport } from '../../core/backend.ts'
import { isSameData } from '../../core/same-data.ts'
import type { Iptables } from '../../dataplane/iptables/iptables.ts'
import { IptablesError } from '../../dataplane/iptables/iptables.ts'
import { OneAtATime } from '../../core/one-at-a-time.ts'
import type { Damage } from './damage.ts'
import type { ChainWatch } from './chain-watch.ts'
import { replaceTail, wantedRoutes } from './edit.ts'
import { writeEdits } from '../../dataplane/iptables/language/edit-rules.ts'
import { fullInputs } from './full-input.ts'
import { planIptables } from './plan.ts'
import { findRefusedRoutes } from '../../dataplane/iptables/language/refused-routes.ts'
import { repairInput } from './repair-input.ts'
import { RestoreInput } from '../../dataplane/iptables/language/restore-input.ts'
import { readRuleset } from './ruleset.ts'
import type { Ruleset } from './ruleset.ts'
import type { SettingsSource } from './settings-source.ts'
import { noCounters } from '../../dataplane/iptables/language/counters.ts'
import type { IptablesSettings } from './settings.ts'
import { Written } from './written.ts'

export interface IptablesMetrics {
  /** How many rules of ours a table holds, and how many of them this sync wrote. */
  rules(table: 'filter' | 'nat', rules: { readonly total: number; readonly last: number }): void
  restoreFailed(sync: { readonly isFull: boolean }): void
}

export interface IptablesBackendOptions {
  readonly iptables: Iptables
  readonly settings: SettingsSource
  /** Notices what others do to our rules; undefined: nobody looks. */
  readonly drift: ChainWatch | undefined
  readonly metrics: IptablesMetrics
}

type Failure = SyncReport['failed'][number]

interface Known {
  readonly written: Written | undefined
  readonly damage: Damage | undefined
}

export class IptablesBackend implements Backend {
  readonly name = 'iptables'
  readonly #options: IptablesBackendOptions
  /** A sync, and a look at the kernel, must not see each other half done. */
  readonly #turns = new OneAtATime()
  /** Undefined when the kernel may hold anything: then only a full sync is safe. */
  #written: Written | undefined
  /** A sync failed and left us without knowledge. */
  #isLost = false
  #syncCount = 0
  /** What others did, as far as the next sync must repair it. */
  #damage: Damage | undefined

  constructor(options: IptablesBackendOptions) {
    this.#options = options
  }

  sync(view: NodeView, change: Change, signal: AbortSignal): Promise<SyncReport> {
    return this.#turns.run(async () => {
      const [written, damage] = [this.#written, this.#damage]
      this.#written = undefined
      this.#damage = undefined
      this.#isLost = true
      this.#syncCount++
      const report = await this.#program({ written, damage }, view, change, signal)
      this.#isLost = false
      return report
    })
  }

  async watch(onDrift: (found: string) => void, signal: AbortSignal): Promise<void> {
    const look = {
      inTurn: <T>(work: () => Promise<T>) => this.#turns.run(work),
      written: () => this.#written,
      isLost: () => this.#isLost,
      syncCount: () => this.#syncCount,
      onDamage: (damage: Damage) => {
        this.#damage = damage
        onDrift(damage.found)
      },
    }
    await this.#options.drift?.run(look, signal)
  }

  /** The rules stay: restarting the proxy must not disturb traffic. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve()
  }

  async #program({ written, damage }: Known, view: NodeView, change: Change, signal: AbortSignal): Promise<SyncReport> {
    const { iptables, settings: source } = this.#options
    const settings = await source.current({ isFull: change.full }, signal)
    // When it is known what others did, putting that back makes everything right again.
    const mustRewrite = damage === undefined ? change.full : damage.isTotal
    if (!mustRewrite && written !== undefined && isSameButForAddresses(written.settings, settings)) {
      try {
        if (damage !== undefined) await this.#sendEdit(repairInput(written, damage), signal)
        return await this.#edit(written, view, settings, change, signal)
      } catch (error) {
        // Somebody removed what we wanted to change, or a new rule is not taken. What the kernel holds decides, now.
        if (!isRefusal(error)) throw error
      }
    }
    const fullSettings = change.full ? settings : await source.current({ isFull: true }, signal)
    // A table that was flushed is not worth reading again: what it lacks is known.
    const known = damage?.isTotal === true ? damage.state : undefined
    const order = change.full ? change.keys : undefined
    const [state, plan] = await Promise.all([
      known ?? readRuleset(iptables, signal),
      // In the next turn the tool has been started, and reads while we plan.
      nextTurn().then(() => planIptables(view, fullSettings, order)),
    ])
    return this.#rewrite(plan, state, signal, (settings) => planIptables(view, settings, order))
  }

  async #rewrite(
    plan: Written,
    state: Ruleset,
    signal: AbortSignal,
    planAgain: (settings: IptablesSettings) => Written,
  ): Promise<SyncReport> {
    const { iptables } = this.#options
    const { variant } = await iptables.features(signal)
    const send = async (wanted: Written, failed: readonly Failure[]) => {
      const inputs = fullInputs(wanted, state, variant)
      await this.#sendAll(inputs, signal)
      return this.#finish(wanted, inputs, failed)
    }
    try {
      return await send(plan, [])
    } catch (error) {
      if (!isRefusal(error)) throw error
      // One bad rule refuses a whole table. Everybody else's rules must not wait for it.
      const refused = await findRefusedRoutes(iptables, plan.routesByKey, signal)
      if (refused.length > 0) return await send(without(plan, refused), refused)
      // Not a Service, then. Some kernels have counters, but no way for a rule to use them.
      if (!usesCounters(plan.settings)) throw error
      this.#options.settings.giveUpCounters()
      return this.#rewrite(planAgain({ ...plan.settings, counters: noCounters }), state, signal, planAgain)
    }
  }

  async #edit(
    written: Written,
    view: NodeView,
    settings: IptablesSettings,
    change: Change,
    signal: AbortSignal,
  ): Promise<SyncReport> {
    const wantedByKey = wantedRoutes(written, view, settings, change.keys)
    const input = new RestoreInput()
    writeEdits(written, wantedByKey, input)
    replaceTail(written.settings, settings, input)
    if (!input.isEmpty) await this.#sendEdit(input, signal)
    const next = isSameData(written.settings, settings) ? written : written.withSettings(settings)
    for (const [key, route] of wantedByKey) next.set(key, route)
    return this.#finish(next, [input], [])
  }

  async #sendEdit(input: RestoreInput, signal: AbortSignal): Promise<void> {
    const { drift } = this.#options
    const send = () => this.#restore(input, { isFull: false }, signal)
    await (drift === undefined ? send() : drift.ownEdit(input.touchedChains(), send, signal))
  }

  async #sendAll(inputs: readonly RestoreInput[], signal: AbortSignal): Promise<void> {
    const { drift } = this.#options
    const send = async () => {
      for (const input of inputs) await this.#restore(input, { isFull: true }, signal)
    }
    await (drift === undefined ? send() : drift.ownRewrite(send))
  }

  async #restore(input: RestoreInput, sync: { readonly isFull: boolean }, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.iptables.restore(input.pieces(), signal)
    } catch (error) {
      if (!signal.aborted) this.#options.metrics.restoreFailed(sync)
      throw error
    }
  }

  #finish(written: Written, inputs: readonly RestoreInput[], failed: readonly Failure[]): SyncReport {
    this.#written = written
    const last = { filter: 0, nat: 0 }
    for (const table of ['filter', 'nat'] as const) {
      for (const input of inputs) last[table] += input.addedRules(table)
      this.#options.metrics.rules(table, { total: written.ruleCount(table), last: last[table] })
    }
    return { facts: { filterRules: last.filter, natRules: last.nat }, failed }
  }
}

function without(plan: Written, refused: readonly Failure[]): Written {
  const rest = new Written(plan.settings)
  const keys = new Set(refused.map(({ key }) => key))
  for (const [key, route] of plan.routesByKey) if (!keys.has(key)) rest.set(key, route)
  return rest
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function isRefusal(error: unknown): boolean {
  return error instanceof IptablesError && error.reason === 'refused'
}

function usesCounters({ counters }: IptablesSettings): boolean {
  return counters.invalidDropped || counters.localhostAccepted
}

/** Addresses of the node come and go, and touch only the last rules of one chain. */
function isSameButForAddresses(left: IptablesSettings, right: IptablesSettings): boolean {
  return isSameData({ ...left, nodePortIps: undefined }, { ...right, nodePortIps: undefined })
}
