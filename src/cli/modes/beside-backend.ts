/** A backend with listeners beside it, for what its data plane cannot have. */
import type { Backend, SyncReport } from '../../core/backend.ts'
import { bothInspections } from '../../core/inspection.ts'
import type { Route, RouteKey } from '../../core/route.ts'
import { addTraffic } from '../../core/traffic.ts'
import { disposeAll } from './dispose-all.ts'
import { overBackend } from './over-backend.ts'

/** `isWanted`: as of now. Otherwise the listeners have no route. */
export function besideBackend(main: Backend, listeners: Backend, isWanted: () => boolean): Backend {
  const told = new Map<RouteKey, string>()
  return overBackend(main, {
    /** The listeners first: a Service that answers elsewhere answers there. If they fail, the rest is programmed all the same. */
    async sync(view, change, signal, span) {
      const wanted = isWanted() ? view : { ...view, routesByKey: noRoutes }
      const listening = listeners.sync(wanted, change, signal, span)
      await Promise.allSettled([listening])
      if (signal.aborted) await listening
      const report = await main.sync(view, change, signal, span)
      const { facts, failed } = await listening
      const notices = newsOf(failed, told)
      return {
        ...report,
        facts: { ...report.facts, listeners: facts['listeners'] ?? 0 },
        ...(notices.length > 0 && { notices: [...(report.notices ?? []), ...notices] }),
      }
    },

    async traffic(signal, keys) {
      const sum = new Map(await main.traffic?.(signal, keys))
      for (const [key, traffic] of (await listeners.traffic?.(signal, keys)) ?? [])
        sum.set(key, addTraffic(sum.get(key), traffic))
      return sum
    },

    async pieces(key) {
      const pieces = await main.pieces?.(key)
      return pieces && [...pieces, ...((await listeners.pieces?.(key)) ?? [])]
    },

    async inspect(key, signal) {
      const [found, beside] = [await main.inspect?.(key, signal), await listeners.inspect?.(key, signal)]
      return found && beside ? bothInspections(found, beside) : found
    },

    async rendered() {
      const parts = await main.rendered?.()
      return parts && [...parts, ...((await listeners.rendered?.()) ?? [])]
    },

    /** First the listeners: they end with this process, the rest may stay. */
    [Symbol.asyncDispose]: () => disposeAll([listeners, main]),
  })
}

const noRoutes: ReadonlyMap<RouteKey, Route> = new Map()

/** A route whose port somebody else has is tried in each sync; people are told once. */
function newsOf(failed: SyncReport['failed'], told: Map<RouteKey, string>): SyncReport['failed'] {
  const news = failed.filter(({ key, reason }) => told.get(key) !== reason)
  told.clear()
  for (const { key, reason } of failed) told.set(key, reason)
  return news
}
