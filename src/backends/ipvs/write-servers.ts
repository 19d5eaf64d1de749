/** Virtual servers and the endpoints behind them. */
import type { IpvsOperation } from '../../dataplane/ipvs/ipvs.ts'
import type { ServerId } from './planned-server.ts'
import { isSurprise, operationsOf, serverEdit } from './server-edits.ts'
import { settleEdit } from './settle-edit.ts'
import { Surprise } from './work.ts'
import type { Work } from './work.ts'

/** Makes and changes those that are wanted. */
export async function writeServers(work: Work, signal: AbortSignal): Promise<void> {
  const { kernel, plan, written, touched, draining, failures, counts } = work
  const operations: IpvsOperation[] = []
  const edits = []
  for (const id of touched.servers) {
    const wanted = plan.server(id)
    if (wanted === undefined) continue
    const edit = serverEdit(wanted, written.serversById.get(id), draining)
    if (edit === undefined) {
      // What was read is equal to what is planned; to keep both would take the memory twice.
      written.serversById.set(id, wanted)
      continue
    }
    const own = operationsOf(edit)
    edits.push({ id, edit, own, start: operations.length })
    operations.push(...own)
  }
  if (operations.length === 0) return
  const errors = await kernel.ipvs.apply(operations, signal)
  counts.operations += operations.length
  for (const { id, edit, own, start } of edits) {
    const { after, problem } = settleEdit(edit, own, (index) => errors.get(start + index), draining)
    if (problem !== undefined) {
      if (work.rules === undefined && isSurprise(problem.operation, problem.error))
        throw new Surprise(problem.error.message, { cause: problem.error })
      failures.servers.set(id, problem.error.message)
    }
    if (after === undefined) written.serversById.delete(id)
    else written.serversById.set(id, after)
  }
}

/** Deletes those that nobody wants any more, and those whose address could not be had. */
export async function deleteServers(work: Work, signal: AbortSignal): Promise<void> {
  const { kernel, plan, written, touched, failures, leftovers, counts, log } = work
  const ids: ServerId[] = []
  const operations: IpvsOperation[] = []
  const unwanted: ServerId[] = []
  for (const id of touched.servers) {
    const server = written.serversById.get(id)
    const wanted = plan.server(id)
    const isUnreachable = wanted?.isBound === true && failures.addresses.has(wanted.ip)
    if (server === undefined || (wanted !== undefined && !isUnreachable)) continue
    if (wanted === undefined) {
      if (work.isExcluded(server.ip)) {
        written.serversById.delete(id)
        continue
      }
      unwanted.push(id)
    }
    ids.push(id)
    operations.push({ kind: 'delete-server', server })
  }
  if (operations.length === 0) return
  if (work.rules !== undefined && unwanted.length > 0)
    log.warn('deleting virtual servers that belong to no Service', {
      servers: unwanted.slice(0, 10),
      count: unwanted.length,
    })
  const errors = await kernel.ipvs.apply(operations, signal)
  counts.operations += operations.length
  for (const [index, id] of ids.entries()) {
    const error = errors.get(index)
    if (error === undefined || error.reason === 'not-found') written.serversById.delete(id)
    else {
      log.warn('cannot delete a virtual server', { server: id, error })
      leftovers.servers.add(id)
    }
  }
}
