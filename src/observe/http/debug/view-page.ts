/** `/debug/view`: what this node proxies, page by page. */
import type { NodeView } from '../../../core/backend.ts'
import type { Route } from '../../../core/route.ts'
import { families } from '../../../net/ip.ts'
import { refused } from './debug-page.ts'
import type { DebugPage } from './debug-page.ts'
import { routeInFull, routeInShort } from './shown-route.ts'

export interface ViewPageOptions {
  readonly mode: string
  readonly views: () => readonly NodeView[]
  /** More about the node as a whole. */
  readonly summary?: () => Readonly<Record<string, unknown>>
}

const usualRoutes = 100
const mostRoutes = 1000

/** /debug/services has them. */
const noZones: ReadonlyMap<string, string> = new Map()

export function viewPage({ mode, views, summary }: ViewPageOptions): DebugPage {
  return {
    path: '/debug/view',
    about: `what this node proxies; ?namespace=, ?service=, ?family=ipv4|ipv6, ?full, ?limit= (${usualRoutes}, up to ${mostRoutes}) and ?after= (the value of next)`,
    answer: async ({ query }) => {
      const limit = Number(query.get('limit') ?? usualRoutes)
      if (!Number.isInteger(limit) || limit < 0 || limit > mostRoutes)
        return refused(400, `limit must be a whole number from 0 to ${mostRoutes}`)
      const family = query.get('family')
      if (family !== null && !families.some((one) => one === family)) return refused(400, 'family must be ipv4 or ipv6')
      const shownViews = views().filter((view) => family === null || view.family === family)
      const matching = matchingRoutes(shownViews, query)
      const { page, next } = pageOf(matching, limit, query.get('after') ?? '')
      const show: (route: Route) => object = query.has('full') ? (route) => routeInFull(route, noZones) : routeInShort
      return {
        kind: 'json',
        value: {
          mode,
          ...summary?.(),
          families: Object.fromEntries(shownViews.map((view) => [view.family, familyInShort(view)])),
          matching: matching.length,
          ...(next !== undefined && { next }),
          routes: page.map((route) => show(route)),
        },
      }
    },
  }
}

function familyInShort({ node, serviceCidrs, routesByKey }: NodeView) {
  let endpoints = 0
  for (const route of routesByKey.values()) endpoints += route.endpoints.length
  return { node, serviceCidrs, routes: routesByKey.size, endpoints }
}

function matchingRoutes(views: readonly NodeView[], query: URLSearchParams): readonly Route[] {
  const [namespace, service] = [query.get('namespace'), query.get('service')]
  const isAsked = (route: Route) =>
    (namespace === null || route.namespace === namespace) && (service === null || route.name === service)
  return views.flatMap(({ routesByKey }) => [...routesByKey.values()].filter(isAsked))
}

/** Sorted, so that the next page begins where this one ended, whatever has come and gone in between. */
function pageOf(
  routes: readonly Route[],
  limit: number,
  after: string,
): { readonly page: readonly Route[]; readonly next: string | undefined } {
  const places = routes
    .map((route) => ({ route, place: placeOf(route) }))
    .filter(({ place }) => place > after)
    .sort((a, b) => (a.place < b.place ? -1 : 1))
  const page = places.slice(0, limit)
  return { page: page.map(({ route }) => route), next: places.length > page.length ? page.at(-1)?.place : undefined }
}

function placeOf({ key, family }: Route): string {
  return `${key} ${family}`
}
