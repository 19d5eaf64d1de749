/** What one node has to program, as change sets, from the source that the command line names. */
import type { ChangeSet } from '../../kpng/client/change-set.ts'
import { followStore } from '../../kpng/client/follow-store.ts'
import { GlobalStore } from '../../kpng/store/global-store.ts'
import { KpngError } from '../../kpng/kpng-error.ts'
import type { Host } from '../host/host.ts'
import { runAll } from '../run-all.ts'
import { openModel } from './open-model.ts'
import type { ModelContext, ModelSource } from './open-model.ts'
import { watchClientFor } from './watch-client-for.ts'

export interface LocalFeed {
  follow(apply: (changes: ChangeSet) => Promise<void> | void, signal: AbortSignal): Promise<void>
}

/** A KPNG server computes for the node; from other sources it is computed here. */
export async function openLocalFeed(
  source: ModelSource,
  node: string,
  context: Omit<ModelContext, 'store'>,
): Promise<LocalFeed> {
  if (source.kind === 'api') {
    const client = await watchClientFor(source.values, { ...context, use: 'feed' })
    return { follow: (apply, signal) => client.follow({ api: 'local', node, wantsUnscoped: false }, apply, signal) }
  }
  const store = new GlobalStore()
  const model = await openModel(source, { ...context, store })
  return {
    follow: (apply, signal) => runAll([model, { run: (running) => followStore(store, node, apply, running) }], signal),
  }
}

/** Refuses an empty name: a KPNG server would answer it with a state that fits no node. */
export function nodeNameFrom(given: string, host: Pick<Host, 'env' | 'hostname'>): string {
  const name = (given || host.env['NODE_NAME'] || host.hostname()).trim().toLowerCase()
  if (name === '') throw new KpngError('no-node-name', 'this machine has no host name: set --node-name')
  return name
}
