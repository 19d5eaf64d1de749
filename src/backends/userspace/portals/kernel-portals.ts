/** The portals in the kernel: remembers what was written, so that a change writes only what differs. */
import type { SyncReport } from '../../../core/backend.ts'
import type { RouteKey } from '../../../core/route.ts'
import { isSameData } from '../../../core/same-data.ts'
import { IptablesError } from '../../../dataplane/iptables/iptables.ts'
import type { Iptables } from '../../../dataplane/iptables/iptables.ts'
import type { DriftWatch } from '../../../dataplane/iptables/language/drift-watch.ts'
import { writeEdits } from '../../../dataplane/iptables/language/edit-rules.ts'
import { readKernelState } from '../../../dataplane/iptables/language/kernel-state.ts'
import { findRefusedRoutes } from '../../../dataplane/iptables/language/refused-routes.ts'
import { RestoreInput } from '../../../dataplane/iptables/language/restore-input.ts'
import { fullInput } from './full-input.ts'
import type { PlannedPortal, PortalPlan } from './plan.ts'
import { removePortals } from './remove-portals.ts'
import type { PortalSettings } from './settings.ts'

export interface KernelPortalsOptions {
  readonly iptables: Iptables
  /** Notices what others do to our rules; undefined: nobody looks. */
  readonly drift: DriftWatch<PortalPlan> | undefined
  readonly metrics: { restoreFailed(sync: { readonly isFull: boolean }): void }
}

export interface WantedPortals {
  readonly settings: PortalSettings
  /** Undefined: the route is gone. */
  readonly portalOf: (key: RouteKey) => PlannedPortal | undefined
  /** Routes that may have changed. */
  readonly changedKeys: readonly RouteKey[]
  /** All of them, in the order to write. */
  readonly allKeys: () => Iterable<RouteKey>
}

export class KernelPortals {
  readonly #options: KernelPortalsOptions
  /** Undefined when the kernel may hold anything: then only all rules at once are safe. */
  #written: PortalPlan | undefined
  /** A write was begun: there may be rules of ours. */
  #hasBegun = false

  constructor(options: KernelPortalsOptions) {
    this.#options = options
  }

  get written(): PortalPlan | undefined {
    return this.#written
  }

  /** Forgets what was written, because the kernel may hold something else; the next write is a full one. */
  lose(): void {
    this.#written = undefined
  }

  /** Whether portals for these settings can be edited, rather than written anew. */
  canEdit(settings: PortalSettings): boolean {
    return this.#written !== undefined && isSameData(this.#written.settings, settings)
  }

  async write(wanted: WantedPortals, signal: AbortSignal): Promise<SyncReport> {
    const written = this.canEdit(wanted.settings) ? this.#written : undefined
    this.#written = undefined
    if (written !== undefined) {
      try {
        return await this.#edit(written, wanted, signal)
      } catch (error) {
        // Somebody removed what we wanted to change, or a new rule is not taken. What the kernel holds decides, now.
        if (!isRefusal(error)) throw error
      }
    }
    return this.#rewrite(wanted, signal)
  }

  async remove(signal: AbortSignal): Promise<void> {
    this.#written = undefined
    if (this.#hasBegun) await removePortals(this.#options.iptables, signal)
  }

  async #rewrite({ settings, portalOf, allKeys }: WantedPortals, signal: AbortSignal): Promise<SyncReport> {
    const { iptables } = this.#options
    const portalsByKey = new Map<RouteKey, PlannedPortal>()
    for (const key of allKeys()) {
      const portal = portalOf(key)
      if (portal !== undefined) portalsByKey.set(key, portal)
    }
    const plan: PortalPlan = { settings, portalsByKey }
    const state = await readKernelState(iptables, signal)
    const send = async (failed: SyncReport['failed']) => {
      const input = fullInput(plan, state)
      await this.#restore(input, { isFull: true }, signal)
      this.#written = plan
      return { facts: factsOf(input), failed }
    }
    try {
      return await send([])
    } catch (error) {
      if (!isRefusal(error)) throw error
      // One bad rule refuses a whole table. Everybody else's rules must not wait for it.
      const refused = await findRefusedRoutes(iptables, portalsByKey, signal)
      if (refused.length === 0) throw error
      for (const { key } of refused) portalsByKey.delete(key)
      return send(refused)
    }
  }

  async #edit(written: PortalPlan, wanted: WantedPortals, signal: AbortSignal): Promise<SyncReport> {
    const { portalsByKey } = written
    const wantedByKey = new Map(wanted.changedKeys.map((key) => [key, wanted.portalOf(key)]))
    const input = new RestoreInput()
    writeEdits(portalsByKey, wantedByKey, input)
    if (!input.isEmpty) await this.#sendEdit(input, signal)
    for (const [key, portal] of wantedByKey)
      if (portal === undefined) portalsByKey.delete(key)
      else portalsByKey.set(key, portal)
    this.#written = written
    return { facts: factsOf(input), failed: [] }
  }

  async #sendEdit(input: RestoreInput, signal: AbortSignal): Promise<void> {
    const { drift } = this.#options
    const send = () => this.#restore(input, { isFull: false }, signal)
    await (drift === undefined ? send() : drift.ownWrite(send, signal))
  }

  async #restore(input: RestoreInput, sync: { readonly isFull: boolean }, signal: AbortSignal): Promise<void> {
    this.#hasBegun = true
    try {
      await this.#options.iptables.restore(input.render(), signal)
    } catch (error) {
      if (!signal.aborted) this.#options.metrics.restoreFailed(sync)
      throw error
    }
  }
}

function factsOf(input: RestoreInput): SyncReport['facts'] {
  return { filterRules: input.addedRules('filter'), natRules: input.addedRules('nat') }
}

function isRefusal(error: unknown): boolean {
  return error instanceof IptablesError && error.reason === 'refused'
}
