/** Writes portals into the kernel: all of them, or only what differs from those that are there. */
import type { SyncReport } from '../../../core/backend.ts'
import { writeAllButRefused } from '../../../core/sync/find-refused.ts'
import type { Programmed } from '../../../core/sync/programming.ts'
import type { SyncSteps } from '../../../core/sync/sync-steps.ts'
import type { Span, SpanAttributes } from '../../../core/trace.ts'
import type { RouteKey } from '../../../core/route.ts'
import type { Iptables } from '../../../dataplane/iptables/iptables.ts'
import type { DriftWatch } from '../../../dataplane/iptables/language/drift-watch.ts'
import { readKernelState } from '../../../dataplane/iptables/language/kernel-state.ts'
import type { KernelState } from '../../../dataplane/iptables/language/kernel-state.ts'
import { findRefusedRoutes, isRefusal } from '../../../dataplane/iptables/language/refused-routes.ts'
import { RestoreInput } from '../../../dataplane/iptables/language/restore-input.ts'
import { tracedIptables } from '../../../dataplane/iptables/traced-iptables.ts'
import { placedChains } from './chains.ts'
import { editPortals } from './edit.ts'
import { fullInput } from './full-input.ts'
import { writeJumps } from './jumps.ts'
import { planPortals } from './plan.ts'
import type { PlannedPortal, PortalPlan } from './plan.ts'
import { removePortals } from './remove-portals.ts'
import type { PortalSettings } from './settings.ts'

export interface KernelPortalsOptions {
  readonly iptables: Iptables
  /** Notices what others do to our rules; undefined: nobody looks. */
  readonly drift: DriftWatch<PortalPlan> | undefined
  /** Of the sync that runs. */
  readonly steps: SyncSteps
  readonly metrics: { restoreFailed(sync: { readonly isFull: boolean }): void }
}

export interface WantedPortals {
  readonly settings: PortalSettings
  /** Undefined: the route is gone. */
  readonly portalOf: (key: RouteKey) => PlannedPortal | undefined
  /** The routes to write, in order: those that may have changed, or all. */
  readonly keys: readonly RouteKey[]
}

export class KernelPortals {
  readonly #options: KernelPortalsOptions
  /** A write was begun: there may be rules of ours. */
  #hasBegun = false

  constructor(options: KernelPortalsOptions) {
    this.#options = options
  }

  async remove(signal: AbortSignal): Promise<void> {
    if (this.#hasBegun) await removePortals(this.#options.iptables, signal)
  }

  async rewrite({ settings, portalOf, keys }: WantedPortals, signal: AbortSignal): Promise<Programmed<PortalPlan>> {
    const { iptables, steps } = this.#options
    const plan = planPortals(keys, portalOf, settings)
    const state = await steps.apply((span) => this.#init(settings, span, signal), 'iptablesInit')
    return writeAllButRefused({
      write: async (refused) => {
        const leftOut = new Map(refused.map(({ key }) => [key, undefined]))
        const written = { ...plan, portalsByKey: plan.portalsByKey.with(leftOut) }
        const input = fullInput(written, state)
        await steps.apply((span) => {
          span.set({ ...restored(written, input), errors: refused.length })
          return this.#restore(input, { isFull: true }, signal)
        }, 'ensurePortals')
        return { plan: written, report: { facts: factsOf(input), failed: refused } }
      },
      isRefusal,
      findRefused: () => {
        const { portalsByKey } = plan
        const rulesOf = (key: RouteKey) => portalsByKey.get(key)?.rendered.shared ?? []
        return findRefusedRoutes(iptables, { keys: portalsByKey.keys(), rulesOf }, signal)
      },
      withoutCulprit: (error) => Promise.reject(error),
    })
  }

  async edit(
    plan: PortalPlan,
    { keys, portalOf }: WantedPortals,
    signal: AbortSignal,
  ): Promise<Programmed<PortalPlan>> {
    const { input, after } = editPortals(plan, new Map(keys.map((key) => [key, portalOf(key)])))
    if (!input.isEmpty)
      await this.#options.steps.apply((span) => {
        span.set({ ...restored(after, input), errors: 0 })
        return this.#sendEdit(input, signal)
      }, 'ensurePortals')
    return { plan: after, report: { facts: factsOf(input), failed: [] } }
  }

  /** Looks at the kernel's chains. What they lack is written together with the portals. */
  async #init({ family }: PortalSettings, span: Span, signal: AbortSignal): Promise<KernelState> {
    const state = await readKernelState(this.#options.iptables, signal)
    if (span.context === undefined) return state
    const jumps = new RestoreInput()
    writeJumps(state, family, jumps)
    span.set({
      'chains.created': placedChains.filter(({ table, chain }) => !state[table].has(chain)).length,
      'rules.created': jumps.render().match(/^-[AI] /gm)?.length ?? 0,
    })
    return state
  }

  async #sendEdit(input: RestoreInput, signal: AbortSignal): Promise<void> {
    const { drift } = this.#options
    const send = () => this.#restore(input, { isFull: false }, signal)
    await (drift === undefined ? send() : drift.ownWrite(send, signal))
  }

  async #restore(input: RestoreInput, sync: { readonly isFull: boolean }, signal: AbortSignal): Promise<void> {
    this.#hasBegun = true
    try {
      await tracedIptables(this.#options.iptables, this.#options.steps).restore(input.render(), signal)
    } catch (error) {
      if (!signal.aborted) this.#options.metrics.restoreFailed(sync)
      throw error
    }
  }
}

function factsOf(input: RestoreInput): SyncReport['facts'] {
  return { filterRules: input.addedRules('filter'), natRules: input.addedRules('nat') }
}

function restored({ portalsByKey }: PortalPlan, input: RestoreInput): SpanAttributes {
  const rules = input.addedRules('filter') + input.addedRules('nat')
  return { services: portalsByKey.size, 'rules.checked': rules, 'rules.restored': rules }
}
