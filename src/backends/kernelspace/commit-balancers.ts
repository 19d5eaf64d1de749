/** Load balancers, sent to HNS. */
import type { HcnError } from '../../dataplane/hcn/hcn.ts'
import { contentOf, frontendOf } from '../../dataplane/hcn/load-balancer-content.ts'
import { changedByOthers } from './commit-endpoints.ts'
import type { EndpointMaker } from './commit-endpoints.ts'
import { ChangedByOthers, refusalOf } from './committed.ts'
import type { CommitContext, Committed } from './committed.ts'
import type { BalancerWrite, KernelspaceEdit } from './edit.ts'
import type { HeldBalancer } from './held.ts'
import type { Frontend } from './owned-names.ts'
import { endpointIdsOf, settingsOf } from './resolve.ts'

/** Deletions that failed before and are tried again in one sync. */
const mostRetries = 20

interface WriteContext extends CommitContext {
  readonly endpoints: EndpointMaker
}

/** What nobody wants any more, and HNS did not let go when it was asked. */
export async function retryDeletions(
  { retries, isFromReading }: KernelspaceEdit,
  { hcn, log }: CommitContext,
  done: Committed,
  signal: AbortSignal,
): Promise<void> {
  for (const balancer of retries.slice(0, mostRetries)) {
    const { id, frontend } = balancer
    try {
      const wasThere = await hcn.deleteLoadBalancer(id, signal)
      if (!wasThere && !isFromReading) throw new ChangedByOthers(isNoMore(frontend))
      done.counts.deleted++
      done.left.balancers.delete(id)
      done.disown(frontend)
    } catch (error) {
      log.warn('cannot delete a load balancer that nobody wants', { frontend, id, error: refusalOf(error) })
    }
  }
}

/** What they are made anew of is there before. Until they can be deleted, the old ones are better than none. */
export async function deleteRebuilt(
  { rebuilt, writes }: KernelspaceEdit,
  context: WriteContext,
  done: Committed,
  signal: AbortSignal,
): Promise<void> {
  const frontends = new Set(rebuilt.map(({ frontend }) => frontend))
  for (const { wanted } of writes) if (frontends.has(wanted.frontend)) await context.endpoints.makeFor(wanted)
  for (const balancer of rebuilt) await deleteBalancer(balancer, context, done, signal)
}

/** Last, when what replaces them works. */
export async function deleteFreed(
  { freed, isFromReading }: KernelspaceEdit,
  context: CommitContext,
  done: Committed,
  signal: AbortSignal,
): Promise<void> {
  for (const balancer of freed) {
    const { id, frontend } = balancer
    const deletion = await deleteBalancer(balancer, context, done, signal)
    if (deletion === 'was gone' && !isFromReading) throw new ChangedByOthers(isNoMore(frontend))
    done.hold(frontend, undefined)
    if (typeof deletion === 'string') done.disown(frontend)
    else {
      context.log.warn('cannot delete a load balancer that nobody wants', { frontend, id, error: deletion })
      done.left.balancers.set(id, balancer)
    }
  }
}

/** Those that are there are changed before new ones are made. */
export async function writeBalancers(
  edit: KernelspaceEdit,
  context: WriteContext,
  done: Committed,
  signal: AbortSignal,
): Promise<void> {
  const writer = new BalancerWriter(edit, context, done, signal)
  for (const write of edit.writes) if (write.held !== undefined) await writer.write(write)
  for (const write of edit.writes) if (write.held === undefined) await writer.write(write)
}

class BalancerWriter {
  readonly #edit: KernelspaceEdit
  readonly #context: WriteContext
  readonly #done: Committed
  readonly #signal: AbortSignal
  /** Read once, when a frontend is taken. */
  #idsByFrontend: Map<string, string> | undefined

  constructor(edit: KernelspaceEdit, context: WriteContext, done: Committed, signal: AbortSignal) {
    this.#edit = edit
    this.#context = context
    this.#done = done
    this.#signal = signal
  }

  async write({ wanted }: BalancerWrite): Promise<void> {
    const done = this.#done
    const { frontend } = wanted
    await this.#context.endpoints.makeFor(wanted)
    const endpoints = endpointIdsOf(wanted, done.table)
    // None of its endpoints could be made. That is reported with them, and what is there stays.
    if (endpoints.length === 0) return
    const next = { frontend, settings: settingsOf(wanted, endpoints), isBroken: false }
    const held = done.held(frontend)
    if (held !== undefined) {
      const refusal = await this.#change(held, { ...next, id: held.id })
      if (refusal === undefined) return
      if (refusal !== 'delete it') return this.#fail(frontend, refusal)
      const stuck = await deleteBalancer(held, this.#context, done, this.#signal)
      if (typeof stuck !== 'string') return this.#fail(frontend, stuck)
    }
    await this.#create(next)
  }

  /** In place, if HNS can. */
  async #change(held: HeldBalancer, next: HeldBalancer): Promise<'delete it' | HcnError | undefined> {
    const { hcn, abilities, readers, log } = this.#context
    if (!abilities.canModify || held.isBroken) return 'delete it'
    try {
      readers.balancers.forget(held.id)
      const answered = await hcn.modifyLoadBalancer(held.id, next.settings, this.#signal)
      if (answered === undefined || contentOf(answered) !== contentOf(next.settings)) {
        this.#tellOfUnmade(held)
        // Should it not let itself be deleted, this is what stays.
        if (answered !== undefined) {
          const { id, ...settings } = answered
          this.#hold({ ...held, id, settings })
        }
        return 'delete it'
      }
      this.#done.counts.modified++
      this.#hold(next)
      return undefined
    } catch (error) {
      const refusal = refusalOf(error)
      if (refusal.reason === 'not-found' && !this.#edit.isFromReading) throw changedByOthers(refusal)
      if (refusal.reason !== 'not-implemented') return refusal
      log.warn('HNS cannot change load balancers in place; from now on they are deleted and made anew', { error })
      abilities.canModify = false
      return 'delete it'
    }
  }

  async #create(next: Omit<HeldBalancer, 'id'>): Promise<void> {
    const { hcn } = this.#context
    for (let attempt = 1; ; attempt++) {
      try {
        this.#hold({ ...next, id: await hcn.createLoadBalancer(next.settings, this.#signal) })
        this.#done.counts.created++
        return
      } catch (error) {
        const refusal = refusalOf(error)
        if (refusal.reason === 'not-found' && !this.#edit.isFromReading) throw changedByOthers(refusal)
        const isTaken = refusal.reason === 'already-exists' || refusal.reason === 'port-already-exists'
        if (attempt > 1 || !isTaken || !(await this.#clearTheWay(next.frontend)))
          return this.#fail(next.frontend, refusal)
      }
    }
  }

  /** The address is ours to serve: whoever holds the frontend, HNS itself after a restart or somebody else, must go. */
  async #clearTheWay(frontend: Frontend): Promise<boolean> {
    const { readers, log } = this.#context
    if (this.#idsByFrontend === undefined) {
      const found = await readers.balancers.readAll(this.#signal)
      this.#idsByFrontend = new Map(found.map(({ id, settings }) => [frontendOf(settings), id]))
    }
    // If there is none, a program of the host has the port.
    const id = this.#idsByFrontend.get(frontend)
    if (id === undefined) return false
    this.#idsByFrontend.delete(frontend)
    log.warn('deleting a load balancer that has the frontend of a Service', { frontend, id })
    const isGone = typeof (await deleteById(id, this.#context, this.#signal)) === 'string'
    if (isGone) this.#done.counts.deleted++
    return isGone
  }

  /** Once is enough: an HNS that does so does it each time. */
  #tellOfUnmade({ frontend, id }: HeldBalancer): void {
    const { abilities, log } = this.#context
    if (abilities.isToldOfUnmade) return
    abilities.isToldOfUnmade = true
    log.warn('HNS took a change of a load balancer, and did not make it; such ones are deleted and made anew', {
      frontend,
      id,
    })
  }

  #hold(balancer: HeldBalancer): void {
    this.#context.readers.balancers.remember(balancer.id, balancer.settings)
    this.#done.hold(balancer.frontend, balancer)
  }

  #fail(frontend: Frontend, { message }: HcnError): void {
    this.#done.failures.frontends.set(frontend, message)
  }
}

/** Perhaps HNS was restarted, and has it under another id. Whoever is to delete it must know that one. */
function isNoMore(frontend: Frontend): string {
  return `the load balancer of ${frontend} is not there any more`
}

type Deletion = 'deleted' | 'was gone' | HcnError

async function deleteBalancer(
  { id, frontend }: HeldBalancer,
  context: CommitContext,
  done: Committed,
  signal: AbortSignal,
): Promise<Deletion> {
  const deletion = await deleteById(id, context, signal)
  if (typeof deletion !== 'string') return deletion
  done.counts.deleted++
  done.hold(frontend, undefined)
  return deletion
}

/** HNS sometimes takes a deletion at the second attempt. */
async function deleteById(id: string, { hcn }: CommitContext, signal: AbortSignal): Promise<Deletion> {
  for (let attempt = 1; ; attempt++) {
    try {
      return (await hcn.deleteLoadBalancer(id, signal)) ? 'deleted' : 'was gone'
    } catch (error) {
      const refusal = refusalOf(error)
      if (attempt > 1) return refusal
    }
  }
}
