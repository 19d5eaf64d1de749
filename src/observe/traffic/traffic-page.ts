/** `/debug/traffic`: what each Service port, and each of its endpoints, has carried. */
import { refused } from '../http/debug/debug-page.ts'
import type { DebugAnswer, DebugPage } from '../http/debug/debug-page.ts'
import { seriesNeeded } from './series-needed.ts'
import type { TrafficBook } from './traffic-book.ts'
import { sortKeys, trafficTable } from './traffic-rows.ts'
import type { SortKey, TrafficQuery } from './traffic-rows.ts'

const usualLimit = 200
const mostRows = 5_000

/** With `--service-series-limit`: above it, this page alone has the counts. */
export function trafficPage(book: TrafficBook, seriesLimit: () => number): DebugPage {
  return {
    path: '/debug/traffic',
    about: 'what Services carry: ?sort=, ?namespace=, ?filter=, ?limit=, ?endpoints=true',
    async answer({ query }): Promise<DebugAnswer> {
      const asked = parseQuery(query)
      if (typeof asked === 'string') return refused(400, asked)
      const table = trafficTable(await book.read(), asked)
      return { kind: 'json', value: { ...table, notes: [...table.notes, ...aboveLimit(book, seriesLimit())] } }
    },
  }
}

function aboveLimit(book: TrafficBook, limit: number): readonly string[] {
  const { services, endpoints } = seriesNeeded(book.views())
  if (endpoints <= limit) return []
  const [what, count] = services > limit ? ['Service ports', services] : ['Service ports and endpoints', endpoints]
  const missing = services > limit ? 'series of Services' : 'series of endpoints'
  return [`/metrics has no ${missing}: ${count} ${what} are more than --service-series-limit=${limit}`]
}

/** A text says what is wrong. */
function parseQuery(query: URLSearchParams): TrafficQuery | string {
  const sort = query.get('sort') ?? 'connections'
  if (!isSortKey(sort)) return `there is no sort=${sort}: use one of ${sortKeys.join(', ')}`
  const limit = query.get('limit') ?? String(usualLimit)
  if (!/^[1-9]\d{0,6}$/.test(limit) || Number(limit) > mostRows) return `limit is a number from 1 to ${mostRows}`
  return {
    sort,
    limit: Number(limit),
    withEndpoints: query.get('endpoints') === 'true',
    namespace: query.get('namespace') ?? undefined,
    filter: query.get('filter') ?? undefined,
  }
}

function isSortKey(text: string): text is SortKey {
  return (sortKeys as readonly string[]).includes(text)
}
