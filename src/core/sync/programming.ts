/**
 * How every backend syncs: it edits what it knows to be written, and where nothing is known, or the data plane does not
 * take the edit, it reads what is there and makes all of it right. Nothing is remembered before the data plane agreed.
 */
import type { Change, Comparison, NodeView, SyncReport } from '../backend.ts'
import type { Span } from '../trace.ts'
import { OneAtATime } from './one-at-a-time.ts'
import { SyncSteps } from './sync-steps.ts'

/** What a backend knows of its data plane. */
export type Knowledge<Plan, Damage> =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'written'; readonly plan: Plan }
  /** It was written, and then others did this to it. */
  | { readonly kind: 'damaged'; readonly plan: Plan; readonly damage: Damage }

export type Written<Plan, Damage> = Exclude<Knowledge<Plan, Damage>, { readonly kind: 'unknown' }>

/** What most backends are asked for. */
export interface SyncTask {
  readonly view: NodeView
  readonly change: Change
}

/** What the data plane holds now, and what to say about the sync. */
export interface Programmed<Plan> {
  readonly plan: Plan
  readonly report: SyncReport
}

export interface ProgrammingHooks<Task, Plan, Damage> {
  /** Sends only what differs. Undefined: this task takes more than an edit. */
  edit(known: Written<Plan, Damage>, task: Task, signal: AbortSignal): Promise<Programmed<Plan> | undefined>
  /** Makes everything right, whatever is there. */
  rewrite(task: Task, known: Knowledge<Plan, Damage>, signal: AbortSignal): Promise<Programmed<Plan>>
  /** The data plane works, but did not take a change: it holds something else than we thought, or never will take it. */
  isRefusal(error: unknown): boolean
  onRefusedEdit?(error: unknown): void
}

export class Programming<Task, Plan, Damage = never> {
  /** What the hooks do, for the trace of the sync. */
  readonly steps = new SyncSteps()
  readonly #hooks: ProgrammingHooks<Task, Plan, Damage>
  /** A sync, and a look at the data plane, must not see each other half done. */
  readonly #turns = new OneAtATime()
  #known: Knowledge<Plan, Damage> = { kind: 'unknown' }
  #syncCount = 0

  constructor(hooks: ProgrammingHooks<Task, Plan, Damage>) {
    this.#hooks = hooks
  }

  /** What was written last; undefined while nobody knows what is there. */
  get written(): Plan | undefined {
    return this.#known.kind === 'unknown' ? undefined : this.#known.plan
  }

  /** Nobody knows what is there, because a sync failed: as long as it is like this, nothing may be taken for granted. */
  get isLost(): boolean {
    return this.#syncCount > 0 && this.#known.kind === 'unknown'
  }

  /** How many syncs have begun. */
  get syncCount(): number {
    return this.#syncCount
  }

  /** Runs the work while no sync does. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#turns.run(work)
  }

  /** Works with what was written, while no sync does. Undefined: nobody knows what is there. */
  withWritten<T>(work: (plan: Plan) => Promise<T> | T): Promise<T | undefined> {
    return this.inTurn(async () => (this.#known.kind === 'unknown' ? undefined : work(this.#known.plan)))
  }

  /**
   * As `withWritten`, for what takes long to read: syncs go on meanwhile. When one came in between, what was read means
   * nothing, and the next attempt makes them wait.
   */
  async look<T>(find: (plan: Plan) => Promise<T> | T): Promise<T | undefined> {
    const begun = await this.withWritten((plan) => ({ plan, syncCount: this.#syncCount }))
    if (begun === undefined) return undefined
    const found = await find(begun.plan)
    const isDisturbed = this.#syncCount !== begun.syncCount || this.written !== begun.plan
    return isDisturbed ? this.withWritten(find) : found
  }

  /** Compares what was written with what is there. */
  async compare(find: (plan: Plan) => Promise<string | undefined>): Promise<Comparison> {
    const looked = await this.look(async (plan) => ({ found: await find(plan) }))
    if (looked === undefined) return { kind: 'unknown' }
    return looked.found === undefined ? { kind: 'as written' } : { kind: 'differs', found: looked.found }
  }

  sync(task: Task, signal: AbortSignal, span?: Span): Promise<SyncReport> {
    return this.#turns.run(() => this.steps.during(span, () => this.#sync(task, signal)))
  }

  /** Others did something to what was written. Of no use where nobody knows what was: everything is written anyway. */
  noteDamage(damage: Damage): void {
    if (this.#known.kind !== 'unknown') this.#known = { kind: 'damaged', plan: this.#known.plan, damage }
  }

  /** What is written has changed without a sync. */
  replaceWritten(change: (plan: Plan) => Plan): void {
    if (this.#known.kind !== 'unknown') this.#known = { ...this.#known, plan: change(this.#known.plan) }
  }

  async #sync(task: Task, signal: AbortSignal): Promise<SyncReport> {
    const known = this.#known
    this.#known = { kind: 'unknown' }
    this.#syncCount++
    const { plan, report } = await this.#program(known, task, signal)
    this.#known = { kind: 'written', plan }
    return report
  }

  async #program(known: Knowledge<Plan, Damage>, task: Task, signal: AbortSignal): Promise<Programmed<Plan>> {
    if (known.kind !== 'unknown') {
      try {
        const edited = await this.#hooks.edit(known, task, signal)
        if (edited !== undefined) return edited
      } catch (error) {
        // Somebody removed what we wanted to change, or something new is not taken. What is there decides, now.
        if (!this.#hooks.isRefusal(error)) throw error
        this.#hooks.onRefusedEdit?.(error)
      }
    }
    return this.#hooks.rewrite(task, known, signal)
  }
}
