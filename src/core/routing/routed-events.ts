/** Which events made a Service dirty, so that each one's trace shows what routing made of it. */
import type { ObjectKey } from '../../api/records.ts'
import type { Family } from '../../net/ip.ts'
import type { ObjectEvent } from '../object-event.ts'
import type { Route } from '../route.ts'
import { noSpan } from '../trace.ts'
import type { Span } from '../trace.ts'

/** What the routing of an event is called; `route` in most modes. */
export type RouteSpanNames = (event: ObjectEvent) => string

interface Routing {
  readonly events: readonly ObjectEvent[]
  end(changedRoutes: number, after: readonly Route[]): void
}

const usualName: RouteSpanNames = () => 'route'

export class RoutedEvents {
  readonly #family: Family
  readonly #nameOf: RouteSpanNames
  readonly #eventsByService = new Map<ObjectKey, ObjectEvent[]>()

  constructor(family: Family, nameOf: RouteSpanNames = usualName) {
    this.#family = family
    this.#nameOf = nameOf
  }

  note(service: ObjectKey, event: ObjectEvent): void {
    const events = this.#eventsByService.get(service)
    if (events === undefined) this.#eventsByService.set(service, [event])
    else if (!events.includes(event)) events.push(event)
  }

  /** Undefined when no event is known. */
  beginRouting(service: ObjectKey, before: readonly Route[]): Routing | undefined {
    const events = this.#eventsByService.get(service)
    if (events === undefined) return undefined
    this.#eventsByService.delete(service)
    const spans = events.map((event, index) => this.#begin(service, event, { isFirst: index === 0, before }))
    const isAboutEndpoints = events.some(({ kind }) => kind === 'EndpointSlice')
    return {
      events,
      end: (changedRoutes, after) => {
        if (!spans.some(({ isRecorded }) => isRecorded)) return
        const forsaken = isAboutEndpoints ? goneWithClients(before, after) : 0
        for (const [index, span] of spans.entries()) {
          if (!span.isRecorded) continue
          span.set({
            'routes.changed': changedRoutes,
            changed: changedRoutes > 0,
            'sync.requested': changedRoutes > 0,
            ports: after.length === 0 ? before.length : after.length,
            'endpoints.after': endpointsOf(after),
            ...(events[index]?.kind === 'EndpointSlice' && { 'affinity.removed': forsaken }),
          })
          span.end()
        }
      },
    }
  }

  #begin(
    service: ObjectKey,
    event: ObjectEvent,
    { isFirst, before }: { isFirst: boolean; before: readonly Route[] },
  ): Span {
    if (!event.span.isRecorded) return noSpan
    return event.span.child(this.#nameOf(event), {
      service,
      'network.type': this.#family,
      'change.action': event.verb.toLowerCase(),
      // Several events about one Service are routed once.
      'change.collapsed': !isFirst,
      'endpoints.before': endpointsOf(before),
    })
  }
}

/** Endpoints that have left routes with client affinity: whoever was bound to one of them is free to go elsewhere. */
function goneWithClients(before: readonly Route[], after: readonly Route[]): number {
  let gone = 0
  for (const { key, affinitySeconds, endpoints } of before) {
    if (affinitySeconds === 0) continue
    const left = new Set(after.find((route) => route.key === key)?.endpoints.map(({ ip, port }) => `${ip} ${port}`))
    gone += endpoints.filter(({ ip, port }) => !left.has(`${ip} ${port}`)).length
  }
  return gone
}

/** Of all ports together. */
function endpointsOf(routes: readonly Route[]): number {
  return routes.reduce((sum, { endpoints }) => sum + endpoints.length, 0)
}
