/** Syncs a backend as the runner does, and shows the tree that it made. */
import type { Backend } from '../../../core/backend.ts'
import type { Route } from '../../../core/route.ts'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { testView } from '../../../core/testing/routes.ts'
import type { SpanRecord } from '../../../core/trace.ts'
import { recordedTrees } from './recorded-trees.ts'

const never = new AbortController().signal

export function tracedSyncs(backend: Pick<Backend, 'sync'>) {
  const { tracer, trees } = recordedTrees(new FakeClock())
  let before: readonly Route[] = []
  /** Changed are those that are not the same objects as before; the first sync is a full one. */
  return async (routes: readonly Route[], { full = trees.length === 0 } = {}): Promise<SpanRecord> => {
    const removed = before.filter(({ key }) => !routes.some((route) => route.key === key))
    const changed = full ? routes : routes.filter((route) => !before.includes(route))
    before = routes
    const span = tracer.start('syncProxyRules')
    const change = { full, keys: [...removed, ...changed].map(({ key }) => key), causes: [] }
    await backend.sync(testView(...routes), change, never, span).then(
      () => span.end(),
      (error: unknown) => span.end(error),
    )
    const tree = trees.at(-1)
    if (tree === undefined) throw new Error('the sync has left no trace')
    return tree
  }
}
