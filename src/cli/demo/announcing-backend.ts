/** The userspace backend of the demo. It announces after each sync what can be reached where. */
import type { ServedAddress } from '../../backends/userspace/route-listeners.ts'
import type { UserspaceBackend } from '../../backends/userspace/userspace-backend.ts'
import type { Backend, Change, NodeView, SyncReport } from '../../core/backend.ts'
import type { Span } from '../../core/trace.ts'
import type { Family } from '../../net/ip.ts'
import type { Route, RouteKey } from '../../core/route.ts'
import { overBackend } from '../modes/over-backend.ts'

export interface Served {
  readonly key: RouteKey
  /** Absent when the route is gone. */
  readonly route: Route | undefined
  readonly addresses: readonly ServedAddress[]
  /** Why it is not served as wanted. */
  readonly problem: string | undefined
}

export type Announce = (served: readonly Served[], isFirst: boolean, family: Family) => void

export function announcingBackend(inner: UserspaceBackend, announce: Announce): Backend {
  let isFirst = true
  return overBackend(inner, {
    async sync(view: NodeView, change: Change, signal: AbortSignal, span?: Span): Promise<SyncReport> {
      const report = await inner.sync(view, change, signal, span)
      const problemByKey = new Map(report.failed.map(({ key, reason }) => [key, reason]))
      const served = change.keys.map((key) => ({
        key,
        route: view.routesByKey.get(key),
        addresses: inner.addressesOf(key),
        problem: problemByKey.get(key),
      }))
      announce(served, isFirst, view.family)
      isFirst = false
      return report
    },
  })
}
