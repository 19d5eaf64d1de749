/** Writes portals into the kernel: all of them, or only what differs from those that are there. */
import type { SyncReport } from '../../../core/backend.ts'
import { writeAllButRefused } from '../../../core/sync/find-refused.ts'
import type { Programmed } from '../../../core/sync/programming.ts'
import type { SyncSteps } from '../../../core/sync/sync-steps.ts'
import { within } from '../../../core/trace.ts'
import type { Span, SpanAttributes } from '../../../core/trace.ts'
import type { RouteKey } from '../../../core/route.ts'
import { canonicalRule } from '../../../dataplane/iptables/canonical-rule.ts'
import type { Iptables } from '../../../dataplane/iptables/iptables.ts'
import type { DriftWatch } from '../../../dataplane/iptables/language/drift-watch.ts'
import { readKernelState } from '../../../dataplane/iptables/language/kernel-state.ts'
import type { KernelState } from '../../../dataplane/iptables/language/kernel-state.ts'
import { findRefusedRoutes, isRefusal } from '../../../dataplane/iptables/language/refused-routes.ts'
import { RestoreInput } from '../../../dataplane/iptables/language/restore-input.ts'
import { tracedIptables } from '../../../dataplane/iptables/traced-iptables.ts'
import { placedChains } from './chains.ts'
import { editPortals } from './edit.ts'
import { findPortalDrift } from './find-drift.ts'
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

/** For the sake of a trace alone: some hundredths of a second. */
const mostCompared = 5000

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
        // A process that comes after another one finds everything as it should be, and touches nothing.
        const isRight = !this.#hasBegun && (await findPortalDrift(written, state)) === undefined
        const input = isRight ? new RestoreInput() : fullInput(written, state)
        this.#hasBegun = true
        if (isRight) return { plan: written, report: { facts: factsOf(input), failed: refused } }
        await steps.apply(async (span) => {
          span.set({
            services: written.portalsByKey.size,
            errors: refused.length,
            ...(span.isRecorded && countMissing(written, state)),
          })
          // The same transaction empties the chains and fills them, so that clients never meet empty ones.
          await within(steps.span, 'iptablesFlush', () => this.#restore(input, { isFull: true }, signal), {
            chains: placedChains.length - missingChains(state),
          })
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
    const wantedByKey = new Map(keys.map((key) => [key, portalOf(key)]))
    const { input, after } = editPortals(plan, wantedByKey)
    if (!input.isEmpty)
      await this.#options.steps.apply((span) => {
        span.set({
          services: after.portalsByKey.size,
          // Of the changed ones: the others are as they were.
          'rules.checked': [...wantedByKey.values()].reduce((sum, portal) => sum + rulesIn(portal), 0),
          'rules.restored': input.addedRules('filter') + input.addedRules('nat'),
          errors: 0,
        })
        return this.#sendEdit(input, signal)
      }, 'ensurePortals')
    return { plan: after, report: { facts: factsOf(input), failed: [] } }
  }

  /** Looks at the kernel's chains. What they lack is written together with the portals. */
  async #init({ family, listenIp, hostIp }: PortalSettings, span: Span, signal: AbortSignal): Promise<KernelState> {
    const state = await readKernelState(this.#options.iptables, signal)
    if (!span.isRecorded) return state
    const jumps = new RestoreInput()
    writeJumps(state, family, jumps)
    span.set({
      'chains.created': missingChains(state),
      'rules.created': jumps.render().match(/^-[AI] /gm)?.length ?? 0,
      'proxy.listen_ip': listenIp,
      'proxy.host_ip': hostIp,
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

function missingChains(state: KernelState): number {
  return placedChains.filter(({ table, chain }) => !state[table].has(chain)).length
}

function rulesIn(portal: PlannedPortal | undefined): number {
  return portal?.rendered.shared.length ?? 0
}

/** How many rules the kernel is to have, and how many of them it lacks; unless it would take long to find out. */
function countMissing({ settings: { family }, portalsByKey }: PortalPlan, state: KernelState): SpanAttributes {
  const bags = new Map(placedChains.map(({ table, chain }) => [`${table} ${chain}`, bagOf(state[table].get(chain))]))
  let [checked, restored, compared] = [0, 0, 0]
  for (const { rendered } of portalsByKey.values())
    for (const { table, chain, rule } of rendered.shared) {
      checked++
      const bag = bags.get(`${table} ${chain}`)
      // At the start all are missing, and none need be compared.
      if (bag === undefined || bag.size === 0) restored++
      else if (++compared <= mostCompared && !takeFrom(bag, canonicalRule(rule, family))) restored++
    }
  return { 'rules.checked': checked, 'rules.restored': compared > mostCompared ? undefined : restored }
}

function takeFrom(bag: Map<string, number>, rule: string): boolean {
  const there = bag.get(rule) ?? 0
  if (there > 0) bag.set(rule, there - 1)
  return there > 0
}

function bagOf(rules: readonly string[] = []): Map<string, number> {
  const counts = new Map<string, number>()
  for (const rule of rules) counts.set(rule, (counts.get(rule) ?? 0) + 1)
  return counts
}
