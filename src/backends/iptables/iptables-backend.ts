/** Programs one IP family with iptables, rule for rule as kube-proxy does. */
import type { Backend, Change, NodeView, SyncReport } from '../../core/backend.ts'
import { isSameData } from '../../core/same-data.ts'
import type { Iptables } from '../../dataplane/iptables/iptables.ts'
import { writeAllButRefused } from '../../core/sync/find-refused.ts'
import { Programming } from '../../core/sync/programming.ts'
import type { Programmed, SyncTask, Written as Known } from '../../core/sync/programming.ts'
import type { Damage } from './damage.ts'
import type { ChainWatch } from './chain-watch.ts'
import { replaceTail, wantedRoutes } from './edit.ts'
import { writeEdits } from '../../dataplane/iptables/language/edit-rules.ts'
import { fullInputs } from './full-input.ts'
import { planIptables } from './plan.ts'
import { findRefusedRoutes, isRefusal } from '../../dataplane/iptables/language/refused-routes.ts'
import { repairInput } from './repair-input.ts'
import { RestoreInput } from '../../dataplane/iptables/language/restore-input.ts'
import { readRuleset } from './ruleset.ts'
import type { Ruleset } from './ruleset.ts'
import type { SettingsSource } from './settings-source.ts'
import { noCounters } from '../../dataplane/iptables/language/counters.ts'
import type { IptablesSettings } from './settings.ts'
import { Written } from './written.ts'

interface IptablesMetrics {
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

type Failures = SyncReport['failed']

export class IptablesBackend implements Backend {
  readonly name = 'iptables'
  readonly #options: IptablesBackendOptions
  readonly #programming: Programming<SyncTask, Written, Damage>

  constructor(options: IptablesBackendOptions) {
    this.#options = options
    this.#programming = new Programming<SyncTask, Written, Damage>({
      edit: (known, task, signal) => this.#repairAndEdit(known, task, signal),
      rewrite: (task, known, signal) =>
        this.#rewrite(task, known.kind === 'damaged' ? known.damage : undefined, signal),
      isRefusal,
    })
  }

  sync(view: NodeView, change: Change, signal: AbortSignal): Promise<SyncReport> {
    return this.#programming.sync({ view, change }, signal)
  }

  async watch(onDrift: (found: string) => void, signal: AbortSignal): Promise<void> {
    const onDamage = (damage: Damage) => {
      this.#programming.noteDamage(damage)
      onDrift(damage.found)
    }
    await this.#options.drift?.run(this.#programming, onDamage, signal)
  }

  /** The rules stay: restarting the proxy must not disturb traffic. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve()
  }

  async #repairAndEdit(
    known: Known<Written, Damage>,
    { view, change }: SyncTask,
    signal: AbortSignal,
  ): Promise<Programmed<Written> | undefined> {
    const { plan: written } = known
    const damage = known.kind === 'damaged' ? known.damage : undefined
    // When it is known what others did, putting that back makes everything right again.
    if (damage === undefined ? change.full : damage.isTotal) return undefined
    const settings = await this.#options.settings.current({ isFull: change.full }, signal)
    if (!isSameButForAddresses(written.settings, settings)) return undefined
    if (damage !== undefined) await this.#sendEdit(repairInput(written, damage), signal)
    return this.#edit(written, view, settings, change, signal)
  }

  async #rewrite(
    { view, change }: SyncTask,
    damage: Damage | undefined,
    signal: AbortSignal,
  ): Promise<Programmed<Written>> {
    const { iptables } = this.#options
    const settings = await this.#options.settings.current({ isFull: true }, signal)
    // A table that was flushed is not worth reading again: what it lacks is known.
    const known = damage?.isTotal === true ? damage.state : undefined
    const planWith = (chosen: IptablesSettings) => planIptables(view, chosen, change.full ? change.keys : undefined)
    const [state, plan] = await Promise.all([
      known ?? readRuleset(iptables, signal),
      // In the next turn the tool has been started, and reads while we plan.
      nextTurn().then(() => planWith(settings)),
    ])
    return this.#write(plan, state, planWith, signal)
  }

  async #write(
    plan: Written,
    state: Ruleset,
    planWith: (settings: IptablesSettings) => Written,
    signal: AbortSignal,
  ): Promise<Programmed<Written>> {
    const { iptables, settings } = this.#options
    const { variant } = await iptables.features(signal)
    return writeAllButRefused({
      write: async (refused) => {
        const wanted = refused.length === 0 ? plan : without(plan, refused)
        const inputs = fullInputs(wanted, state, variant)
        await this.#sendAll(inputs, signal)
        return this.#finish(wanted, inputs, refused)
      },
      isRefusal,
      findRefused: () => findRefusedRoutes(iptables, plan.routesByKey, signal),
      // Not a Service, then. Some kernels have counters, but no way for a rule to use them.
      withoutCulprit: (error) => {
        if (!usesCounters(plan.settings)) throw error
        settings.giveUpCounters()
        return this.#write(planWith({ ...plan.settings, counters: noCounters }), state, planWith, signal)
      },
    })
  }

  async #edit(
    written: Written,
    view: NodeView,
    settings: IptablesSettings,
    change: Change,
    signal: AbortSignal,
  ): Promise<Programmed<Written>> {
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

  #finish(plan: Written, inputs: readonly RestoreInput[], failed: Failures): Programmed<Written> {
    const last = { filter: 0, nat: 0 }
    for (const table of ['filter', 'nat'] as const) {
      for (const input of inputs) last[table] += input.addedRules(table)
      this.#options.metrics.rules(table, { total: plan.ruleCount(table), last: last[table] })
    }
    return { plan, report: { facts: { filterRules: last.filter, natRules: last.nat }, failed } }
  }
}

function without(plan: Written, refused: Failures): Written {
  const rest = new Written(plan.settings)
  const keys = new Set(refused.map(({ key }) => key))
  for (const [key, route] of plan.routesByKey) if (!keys.has(key)) rest.set(key, route)
  return rest
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function usesCounters({ counters }: IptablesSettings): boolean {
  return counters.invalidDropped || counters.localhostAccepted
}

/** Addresses of the node come and go, and touch only the last rules of one chain. */
function isSameButForAddresses(left: IptablesSettings, right: IptablesSettings): boolean {
  return isSameData({ ...left, nodePortIps: undefined }, { ...right, nodePortIps: undefined })
}
