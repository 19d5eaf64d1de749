/** `/debug/syncs`: what the last syncs did, how long each part took, and which events caused them. */
import type { SpanRecord } from '../../core/trace.ts'
import { refused } from '../http/debug/debug-page.ts'
import type { DebugAnswer, DebugPage } from '../http/debug/debug-page.ts'
import { shownSync } from './shown-sync.ts'
import type { ShownSync } from './shown-sync.ts'
import type { SyncHistory } from './sync-history.ts'

/** What `fairlead trace` reads. */
export interface SyncsAnswer {
  /** Newest first, or slowest first. */
  readonly order: 'newest' | 'slowest'
  readonly syncs: readonly ShownSync[]
  /** `createProxier`: how the process got ready. */
  readonly start: SpanRecord | null
}

const defaultLimit = 20

export function syncsPage(history: Pick<SyncHistory, 'last' | 'slowest' | 'start'>): DebugPage {
  return {
    path: '/debug/syncs',
    about:
      'the last syncs: what each did, how long that took and which events caused it; ?slowest, ?limit=20, ?family=ipv4, ?trace=ID for one',
    answer: ({ query }) => Promise.resolve(answer(history, query)),
  }
}

function answer(history: Pick<SyncHistory, 'last' | 'slowest' | 'start'>, query: URLSearchParams): DebugAnswer {
  const limit = query.get('limit') ?? String(defaultLimit)
  if (!/^[1-9]\d{0,5}$/.test(limit)) return refused(400, `limit=${limit} is no number of syncs: ask with limit=20`)
  const family = query.get('family')
  if (family !== null && family !== 'ipv4' && family !== 'ipv6')
    return refused(400, `family=${family} is none: ask with family=ipv4 or family=ipv6`)
  const trace = query.get('trace')
  if (trace !== null) return oneSync(history, trace)
  const isSlowest = query.has('slowest') && query.get('slowest') !== 'false'
  const roots = (isSlowest ? history.slowest : history.last).filter(
    ({ attributes }) => family === null || attributes['network.type'] === family,
  )
  const value: SyncsAnswer = {
    order: isSlowest ? 'slowest' : 'newest',
    syncs: roots.slice(0, Number(limit)).map(shownSync),
    start: history.start ?? null,
  }
  return { kind: 'json', value }
}

function oneSync(history: Pick<SyncHistory, 'last' | 'slowest' | 'start'>, trace: string): DebugAnswer {
  const root = [...history.last, ...history.slowest].find(({ context }) => context.traceId === trace)
  if (root === undefined)
    return refused(404, `no sync with trace=${trace} is kept any more: /debug/syncs lists those that are`)
  const value: SyncsAnswer = { order: 'newest', syncs: [shownSync(root)], start: history.start ?? null }
  return { kind: 'json', value }
}
