/** Virtual servers and the endpoints behind them, sent to the kernel. */
import type { IpvsError } from '../../dataplane/ipvs/ipvs.ts'
import { ChangedByOthers } from './committed.ts'
import type { CommitContext, Committed } from './committed.ts'
import type { Draining } from './draining.ts'
import type { IpvsEdit } from './edit.ts'
import type { HeldEndpoint, HeldServer } from './held.ts'
import { plannedServer } from './plan.ts'
import type { ServerId } from './planned-server.ts'
import { operationsOf, showsOthersChange } from './server-edit.ts'
import type { EndpointEdit, ServerEdit, ServerOperation } from './server-edit.ts'

/** Makes and changes those that are wanted. */
export async function writeServers(
  { servers, isFromReading }: IpvsEdit,
  { kernel, draining }: CommitContext,
  { counts, failures, deviations }: Committed,
  signal: AbortSignal,
): Promise<void> {
  const sent = servers.map((edit) => ({ edit, operations: operationsOf(edit) }))
  const all = sent.flatMap(({ operations }) => operations.map(({ operation }) => operation))
  if (all.length === 0) return
  // Without an answer nobody knows which endpoints have their weight.
  const knewWeights = draining.knowsWeights
  draining.knowsWeights = false
  const errors = await kernel.ipvs.apply(all, signal)
  draining.knowsWeights = knewWeights
  counts.operations += all.length
  let next = 0
  let othersChange: IpvsError | undefined
  for (const { edit, operations } of sent) {
    const results = operations.map((operation) => ({ ...operation, error: errors.get(next++) }))
    noteDraining(edit, results, draining)
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

/** Deletes those that nobody wants any more, and those whose address could not be had. */
export async function deleteServers(
  edit: IpvsEdit,
  { kernel, log }: CommitContext,
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
    if (error === undefined || error.reason === 'not-found') continue
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

function noteDraining({ wanted, before }: ServerEdit, results: readonly Result[], draining: Draining): void {
  if (before === undefined && results.some((result) => result.endpoint === undefined && isRefused(result))) return
  for (const result of results) {
    if (result.endpoint === undefined || isRefused(result)) continue
    const { endpoint, does } = result.endpoint
    const { ip, port, address } = endpoint
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
  const edited = new Set<string>()
  const held: HeldEndpoint[] = []
  for (const result of results) {
    if (result.endpoint === undefined) continue
    const { ip, port, address } = result.endpoint.endpoint
    edited.add(address)
    // A refused removal leaves it there, a refused addition does not.
    if (isRemoval(result.endpoint) === isRefused(result)) held.push({ ip, port, address })
  }
  return [...(before?.endpoints.filter(({ address }) => !edited.has(address)) ?? []), ...held]
}
