/** Virtual servers and the endpoints behind them, sent to the kernel. */
import type { IpvsError } from '../../dataplane/ipvs/ipvs.ts'
import { ChangedByOthers } from './committed.ts'
import type { CommitContext, Committed } from './committed.ts'
import type { IpvsEdit } from './edit.ts'
import type { HeldEndpoint, HeldServer } from './held.ts'
import { plannedServer } from './plan.ts'
import { withUsualScheduler } from './planned-server.ts'
import type { ServerId } from './planned-server.ts'
import { operationsOf, serverEdit, showsOthersChange } from './server-edit.ts'
import type { EndpointEdit, ServerEdit, ServerOperation } from './server-edit.ts'

/** Makes and changes those that are wanted. */
export async function writeServers(
  { servers, isFromReading, after }: IpvsEdit,
  context: CommitContext,
  committed: Committed,
  signal: AbortSignal,
): Promise<void> {
  const { failures, deviations } = committed
  const usual = after.plan.settings.scheduler
  const sent = await send(servers, context, committed, signal)
  const [able, lacking] = partition(sent, (one) => !lacksScheduler(one, usual))
  const substituted = await sendWithUsual(lacking, usual, context, committed, signal)
  let othersChange: IpvsError | undefined
  for (const { edit, results } of [...able, ...substituted]) {
    const problem = results.find(isRefused)
    if (problem?.error === undefined) continue
    const { operation, error } = problem
    if (showsOthersChange(operation, error)) othersChange ??= error
    failures.servers.set(edit.wanted.id, error.message)
    deviations.serversById.set(edit.wanted.id, heldAfter(edit, results))
  }
  // Only now, because the list of draining endpoints must know of all that was done.
  if (othersChange !== undefined && !isFromReading)
    throw new ChangedByOthers(othersChange.message, { cause: othersChange })
}

interface SentEdit {
  readonly edit: ServerEdit
  readonly results: readonly Result[]
}

async function send(
  edits: readonly ServerEdit[],
  { kernel, draining, weights }: CommitContext,
  { counts }: Committed,
  signal: AbortSignal,
): Promise<readonly SentEdit[]> {
  const sent = edits.map((edit) => ({ edit, operations: operationsOf(edit) }))
  const all = sent.flatMap(({ operations }) => operations.map(({ operation }) => operation))
  if (all.length === 0) return []
  // Without an answer nobody knows which endpoints have their weight.
  const wereKnown = weights.areKnown
  weights.areKnown = false
  const errors = await kernel.ipvs.apply(all, signal)
  weights.areKnown = wereKnown
  counts.operations += all.length
  let next = 0
  return sent.map(({ edit, operations }) => {
    const results = operations.map((operation) => ({ ...operation, error: errors.get(next++) }))
    noteWeights(edit, results, { draining, weights })
    return { edit, results }
  })
}

/** The kernel has no such scheduler, and the Service can do without. */
function lacksScheduler({ edit, results }: SentEdit, usual: string): boolean {
  const refused = results.some(({ endpoint, error }) => endpoint === undefined && error?.reason === 'module-missing')
  return refused && withUsualScheduler(edit.wanted, usual).scheduler !== edit.wanted.scheduler
}

/** A Service that asks for a scheduler which this kernel does not have is served as if it had not asked. */
async function sendWithUsual(
  lacking: readonly SentEdit[],
  usual: string,
  context: CommitContext,
  committed: Committed,
  signal: AbortSignal,
): Promise<readonly SentEdit[]> {
  const { deviations } = committed
  const edits: ServerEdit[] = []
  for (const { edit, results } of lacking) {
    const { wanted } = edit
    const held = heldAfter(edit, results)
    deviations.serversById.set(wanted.id, held)
    tellOfScheduler(wanted.scheduler, results, context)
    const instead = serverEdit(
      withUsualScheduler(wanted, usual),
      held === 'missing' ? undefined : held,
      context.draining,
    )
    if (instead !== undefined) edits.push(instead)
  }
  const sent = await send(edits, context, committed, signal)
  for (const { edit, results } of sent) deviations.serversById.set(edit.wanted.id, heldAfter(edit, results))
  return sent
}

function tellOfScheduler(scheduler: string, results: readonly Result[], { log, toldSchedulers }: CommitContext): void {
  if (toldSchedulers.has(scheduler)) return
  toldSchedulers.add(scheduler)
  const error = results.find((result) => result.endpoint === undefined)?.error
  log.warn('the kernel lacks a scheduler that Services ask for; the usual one serves them', { scheduler, error })
}

/** Deletes those that nobody wants any more, and those whose address could not be had. */
export async function deleteServers(
  edit: IpvsEdit,
  { kernel, log, weights }: CommitContext,
  { counts, failures, deviations }: Committed,
  signal: AbortSignal,
): Promise<void> {
  const { unwantedServers: unwanted, isFromReading } = edit
  const unreachable = unreachableServers(edit, failures.addresses).filter(
    ({ id }) => deviations.serversById.get(id) !== 'missing',
  )
  const servers = [...unwanted, ...unreachable]
  if (servers.length === 0) return
  if (isFromReading && unwanted.length > 0)
    log.warn('deleting virtual servers that belong to no Service', {
      servers: unwanted.slice(0, 10).map(({ id }) => id),
      count: unwanted.length,
    })
  const errors = await kernel.ipvs.apply(
    servers.map(({ server }) => ({ kind: 'delete-server', server })),
    signal,
  )
  counts.operations += servers.length
  for (const { id } of unreachable) deviations.serversById.set(id, 'missing')
  for (const [index, { id, server }] of servers.entries()) {
    const error = errors.get(index)
    if (error === undefined || error.reason === 'not-found') {
      weights.forgetServer(id)
      continue
    }
    log.warn('cannot delete a virtual server', { server: id, error })
    deviations.serversById.set(id, server)
  }
}

function unreachableServers(
  { serverIds, after }: IpvsEdit,
  refusedIps: Committed['failures']['addresses'],
): readonly { readonly id: ServerId; readonly server: HeldServer }[] {
  if (refusedIps.size === 0) return []
  return serverIds.flatMap((id) => {
    const server = plannedServer(after.plan, id)
    return server?.isBound === true && refusedIps.has(server.ip) ? [{ id, server }] : []
  })
}

interface Result extends ServerOperation {
  readonly error: IpvsError | undefined
}

/** What shall go and is gone already is fine. */
function isRefused({ endpoint, error }: Result): boolean {
  if (error === undefined) return false
  return !(endpoint !== undefined && isRemoval(endpoint) && error.reason === 'not-found')
}

function isRemoval({ does }: EndpointEdit): boolean {
  return does === 'drain' || does === 'delete'
}

function noteWeights(
  { wanted, before }: ServerEdit,
  results: readonly Result[],
  { draining, weights }: Pick<CommitContext, 'draining' | 'weights'>,
): void {
  if (before === undefined && results.some((result) => result.endpoint === undefined && isRefused(result))) return
  for (const result of results) {
    if (result.endpoint === undefined || isRefused(result)) continue
    const { endpoint, does } = result.endpoint
    const { ip, port, address, weight } = endpoint
    if (isRemoval(result.endpoint)) weights.forget(wanted.id, address)
    else weights.note(wanted.id, address, weight)
    if (does !== 'drain') draining.forget(wanted.id, address)
    else if (result.error === undefined) draining.add(wanted, { ip, port, address })
  }
}

/** What the kernel has after an edit of which something was refused. */
function heldAfter({ wanted, before }: ServerEdit, results: readonly Result[]): HeldServer | 'missing' {
  const isServerRefused = results.some((result) => result.endpoint === undefined && isRefused(result))
  if (isServerRefused && before === undefined) return 'missing'
  const { ip, port, protocol, scheduler, flags, timeoutSeconds } = isServerRefused && before ? before : wanted
  return { ip, port, protocol, scheduler, flags, timeoutSeconds, endpoints: endpointsAfter(before, results) }
}

function endpointsAfter(before: HeldServer | undefined, results: readonly Result[]): readonly HeldEndpoint[] {
  const heldByAddress = new Map(before?.endpoints.map((endpoint) => [endpoint.address, endpoint]))
  for (const result of results) {
    // What is refused changes nothing: neither what was to go, nor what was to come or to weigh more.
    if (result.endpoint === undefined || isRefused(result)) continue
    const { ip, port, address, weight } = result.endpoint.endpoint
    if (isRemoval(result.endpoint)) heldByAddress.delete(address)
    else heldByAddress.set(address, { ip, port, address, weight })
  }
  return [...heldByAddress.values()]
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))]
}
