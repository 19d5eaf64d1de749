/**
 * Sends an edit to HNS, step by step, in an order that leaves traffic alone: endpoints before the load balancers that name
 * them, and the end of what nobody needs last. Names are written down before objects are made, and struck out after they
 * are gone, so that a process that is killed in between leaves nothing that nobody knows.
 */
import type { CommitContext } from './committed.ts'
import { Committed } from './committed.ts'
import { deleteFreed, deleteRebuilt, retryDeletions, writeBalancers } from './commit-balancers.ts'
import { deleteUnusedEndpoints, EndpointMaker } from './commit-endpoints.ts'
import type { KernelspaceEdit } from './edit.ts'
import { ownedBalancer, ownedEndpoint, ownedNetwork, ownedSourceVip } from './owned-names.ts'

export async function commit(edit: KernelspaceEdit, context: CommitContext, signal: AbortSignal): Promise<Committed> {
  const done = new Committed(edit)
  await own(edit, context)
  // First: what an earlier sync could not delete may be in the way of this one.
  await retryDeletions(edit, context, done, signal)
  const endpoints = new EndpointMaker(edit, context, done, signal)
  await endpoints.makeSourceVip()
  await deleteRebuilt(edit, { ...context, endpoints }, done, signal)
  await writeBalancers(edit, { ...context, endpoints }, done, signal)
  await endpoints.makeRest()
  await deleteFreed(edit, context, done, signal)
  await deleteUnusedEndpoints(edit, context, done, signal)
  const disowned = done.disowned()
  if (disowned.length > 0) await context.owned.remove(disowned)
  return done
}

async function own({ after, newEndpoints, wantedFrontends }: KernelspaceEdit, { owned }: CommitContext): Promise<void> {
  const names = [
    ownedNetwork(after.plan.settings.network.name),
    ...newEndpoints.map(({ ip, purpose }) => (purpose === 'source-vip' ? ownedSourceVip(ip) : ownedEndpoint(ip))),
    ...wantedFrontends.map(ownedBalancer),
  ].filter((name) => !owned.has(name))
  if (names.length > 0) await owned.add(names)
}
