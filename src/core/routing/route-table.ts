/**
 * The Routes of one IP family, kept up to date one Service at a time. Events mark a Service as dirty; dirty Services
 * are routed again once the current batch of events is in; what differs from the programmed Route waits as pending.
 * Only `take` moves pending Routes into the view, so the view a backend works on does not change under its hands. What
 * the Routes of a Service are, NodeRouting knows.
 */
import type { ObjectKey, ServiceRecord, SliceRecord } from '../../api/records.ts'
import { renderCidr } from '../../net/ip.ts'
import type { RefusedService } from './address-claims.ts'
import type { NodeView } from '../backend.ts'
import { serviceKeyOf } from '../catalog.ts'
import type { CatalogEvent } from '../catalog.ts'
import type { Clock } from '../clock.ts'
import { losesEndpoint, programmingOrder } from '../sync/programming-order.ts'
import type { PendingRoute } from '../sync/programming-order.ts'
import type { ProxyMetrics } from '../proxy-metrics.ts'
import type { PendingSync, SyncRequest, RouteSource } from '../sync/route-source.ts'
import type { Route, RouteKey } from '../route.ts'
import { NodeRouting } from './node-routing.ts'
import type { NodeRoutingOptions } from './node-routing.ts'
import { isSameData } from '../same-data.ts'
import type { ObjectEvent } from '../object-event.ts'
import { RoutedAhead } from './routed-ahead.ts'
import { RoutedEvents } from './routed-events.ts'
import type { RouteSpanNames } from './routed-events.ts'
import { isSameRoute } from './same-route.ts'
import type { NoticeSink, ServiceNotice } from './service-notices.ts'
import type { ServingPolicy } from './serving-policy.ts'
import { RemovalTimes } from '../sync/removal-times.ts'
import type { EndpointRemoval } from '../sync/removal-times.ts'
import { SyncReasons } from '../sync/sync-reasons.ts'

export interface RouteTableOptions extends NodeRoutingOptions {
  readonly metrics: ProxyMetrics
  /** Changes that happened in the cluster before this moment say nothing about our latency. */
  readonly startedAtMs: number
  /** What routing is called in the traces of this mode; absent: `route`. */
  readonly spanNames?: RouteSpanNames
  /** For the time at which changes arrive; without it they are as old as the table. */
  readonly clock?: Pick<Clock, 'now'>
}

const noRoutes: readonly Route[] = []

export class RouteTable implements RouteSource {
  readonly #options: RouteTableOptions
  readonly #routing: NodeRouting
  readonly #routesByKey = new Map<RouteKey, Route>()
  /** The newest routes of each Service, programmed or pending. */
  readonly #latestByService = new Map<ObjectKey, readonly Route[]>()
  readonly #pendingByKey = new Map<RouteKey, PendingRoute>()
  readonly #dirtyServices = new Set<ObjectKey>()
  readonly #listeners = new Set<(request: SyncRequest) => void>()
  readonly #viewers = new Set<(keys: readonly RouteKey[]) => void>()
  /** That made a Service dirty. */
  readonly #events: RoutedEvents
  readonly #noLocalEndpoints = { internal: 0, external: 0 }
  readonly #removalTimes = new RemovalTimes()
  #reasons: SyncReasons
  /** Undefined once the first lists are complete. */
  #ahead: RoutedAhead | undefined
  #serviceCidrs: readonly string[] = []
  #isFlushScheduled = false
  #isFullDue = false

  constructor(options: RouteTableOptions) {
    this.#options = options
    this.#reasons = new SyncReasons(options.startedAtMs)
    const { catalog, family } = options
    this.#ahead = new RoutedAhead(options)
    const tell: NoticeSink['tell'] = (_, ...found) => this.#tell(...found)
    this.#routing = new NodeRouting({ ...options, notices: { tell } })
    this.#events = new RoutedEvents(family, options.spanNames)
    catalog.subscribe({ changed: (event) => this.#onChange(event), listed: () => this.#initialise() })
    options.care?.subscribe((service, cause) => {
      this.#reasons.weighed(service, cause)
      this.#markDirty(service)
    })
    this.#readNode()
    this.#readServiceCidrs()
    // What is already there is as new to this table as what comes later.
    for (const [key, service] of catalog.services) this.#onService(key, undefined, service)
    for (const [key, slice] of catalog.slices) this.#onSlice(key, undefined, slice)
    this.#initialise()
  }

  get isInitialised(): boolean {
    return this.#ahead === undefined
  }

  /** What the last sync was given to program. */
  get view(): NodeView {
    const { family, nodeName, nodeIP } = this.#options
    return {
      family,
      node: { name: nodeName, zone: this.#routing.zone, ip: nodeIP },
      routesByKey: this.#routesByKey,
      serviceCidrs: this.#serviceCidrs,
    }
  }

  /** Routes that the next sync will be given. */
  get pendingRoutes(): number {
    return this.#pendingByKey.size
  }

  get serviceCount(): number {
    return this.#latestByService.size
  }

  get noLocalEndpoints(): { readonly internal: number; readonly external: number } {
    return this.#noLocalEndpoints
  }

  /** This node's addresses of the family; the one to use comes first. */
  get nodeIPs(): readonly string[] {
    return this.#routing.nodeIPs
  }

  get policy(): ServingPolicy {
    return this.#routing.policy
  }

  /** Everything is routed anew with it when the next sync takes its routes. */
  setPolicy(policy: ServingPolicy): void {
    if (!this.#routing.setPolicy(policy)) return
    for (const key of this.#options.catalog.services.keys()) this.#dirtyServices.add(key)
  }

  /** The Services that name the place and do not get it. */
  refusedAt(place: Parameters<NodeRouting['refusedAt']>[0]): readonly RefusedService[] {
    return this.#routing.refusedAt(place)
  }

  /** What is wrong with a Service, as of now. */
  noticesOf(service: ObjectKey): readonly ServiceNotice[] {
    return this.#routing.noticesOf(service)
  }

  subscribe(listener: (request: SyncRequest) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Calls with the routes that are other ones in the view from now on. Returns the function that ends it. */
  watchView(viewer: (keys: readonly RouteKey[]) => void): () => void {
    this.#viewers.add(viewer)
    return () => this.#viewers.delete(viewer)
  }

  take({ full }: { readonly full: boolean }): PendingSync {
    const pending = this.#pendingNow()
    const removals = this.#removalsOf(pending)
    this.#commitAll(pending)
    const isFull = full || this.#isFullDue
    const { causes, triggerTimesMs, needsConntrackCleanup, linkedCauses: causedBy } = this.#reasons
    this.#reasons = new SyncReasons(this.#options.startedAtMs)
    this.#isFullDue = false
    this.#reportPending()
    if (this.#viewers.size > 0 && pending.length > 0) {
      const keys = pending.map(({ key }) => key)
      for (const viewer of this.#viewers) viewer(keys)
    }
    return {
      view: this.view,
      change: { full: isFull, keys: programmingOrder(pending, isFull ? this.#routesByKey : undefined), causes },
      triggerTimesMs,
      removals,
      needsConntrackCleanup,
      causedBy,
    }
  }

  /** Routes the dirty Services now instead of at the end of the current batch, and asks for a sync if that is news. */
  flush(): void {
    const { isNews, urgent } = this.#routeDirtyServices()
    if (isNews && this.isInitialised) this.#notify({ urgent, initialised: false })
  }

  /** Half a list is nothing to program. */
  #pendingNow(): readonly PendingRoute[] {
    if (!this.isInitialised) return []
    this.#routeDirtyServices()
    return [...this.#pendingByKey.values()]
  }

  #routeDirtyServices(): { readonly isNews: boolean; readonly urgent: boolean } {
    let isNews = this.#reasons.hasNotes
    let urgent = false
    for (const service of this.#dirtyServices) {
      this.#ahead?.noteRouted(service)
      const routing = this.#events.beginRouting(service, this.#latestByService.get(service) ?? noRoutes)
      const news = this.#reroute(service)
      routing?.end(news.length, this.#latestByService.get(service) ?? noRoutes)
      if (news.length === 0) {
        this.#reasons.forget(service)
        this.#removalTimes.forget(service)
      } else for (const { link } of routing?.events ?? []) this.#reasons.link(service, link)
      isNews ||= news.length > 0
      urgent ||= news.some(({ isRemoval }) => isRemoval)
    }
    this.#dirtyServices.clear()
    this.#reportPending()
    return { isNews, urgent }
  }

  #onChange(event: CatalogEvent): void {
    switch (event.kind) {
      case 'Service':
        this.#onService(event.key, event.previous, event.current, event.event)
        break
      case 'EndpointSlice':
        this.#onSlice(event.key, event.previous, event.current, event.event)
        break
      case 'Node':
        this.#markAllOf(this.#routing.nodeChanged(event.previous, event.current), event.event)
        this.#readNode(event.event)
        break
      case 'ServiceCIDR':
        this.#markAllOf(this.#routing.serviceCidrChanged(event.previous, event.current), event.event)
        this.#readServiceCidrs(event.event)
        break
      case 'Namespace':
        this.#markAllOf(this.#routing.namespaceChanged(event.previous, event.current), event.event)
        break
      default:
        event satisfies never
    }
  }

  #onService(
    key: ObjectKey,
    previous: ServiceRecord | undefined,
    current: ServiceRecord | undefined,
    event?: ObjectEvent,
  ): void {
    const { family, metrics } = this.#options
    metrics.serviceChange() // as kube-proxy does, whichever family the Service is of
    const isOurs = previous?.clusterIPs[family] !== undefined || current?.clusterIPs[family] !== undefined
    if (!isOurs) return
    this.#reasons.serviceChanged(key, previous, current)
    if (this.isInitialised) this.#removalTimes.serviceChanged(key, this.#nowMs())
    this.#markDirty(key, event)
    this.#markAllOf(this.#routing.serviceChanged(key, previous, current), event)
  }

  #onSlice(
    key: ObjectKey,
    previous: SliceRecord | undefined,
    current: SliceRecord | undefined,
    event?: ObjectEvent,
  ): void {
    const { family, metrics } = this.#options
    this.#markAllOf(this.#routing.sliceChanged(key, previous, current), event)
    for (const slice of new Set([previous, current])) {
      if (slice === undefined || slice.family !== family) continue
      const service = serviceKeyOf(slice)
      // A slice that moved to another Service is a removal for the old one.
      const stays = current !== undefined && current.family === family && serviceKeyOf(current) === service
      if (slice === previous && stays) continue
      metrics.endpointChange()
      if (event !== undefined && event.verb !== 'List') event.span.set({ 'k8s.service.name': slice.serviceName })
      this.#reasons.sliceChanged(key, service, previous, stays ? current : undefined)
      if (this.isInitialised) this.#noteRemovals(service, previous, stays ? current : undefined)
      this.#markDirty(service, event)
    }
  }

  /** A slice that comes from another Service takes nothing away from this one. */
  #noteRemovals(service: ObjectKey, previous: SliceRecord | undefined, current: SliceRecord | undefined): void {
    const own = previous !== undefined && serviceKeyOf(previous) === service ? previous : undefined
    this.#removalTimes.sliceChanged(service, own, current, this.#nowMs())
  }

  /** Compares with what is programmed, so before that changes. */
  #removalsOf(pending: readonly PendingRoute[]): readonly EndpointRemoval[] {
    const nowMs = this.#nowMs()
    const removals = pending.flatMap(({ key, route, isRemoval }) => {
      const programmed = isRemoval ? this.#routesByKey.get(key) : undefined
      return programmed === undefined ? [] : this.#removalTimes.removalsFrom(programmed, route, nowMs)
    })
    this.#removalTimes.clear()
    return removals
  }

  #nowMs(): number {
    const { clock, startedAtMs } = this.#options
    return clock?.now() ?? startedAtMs
  }

  #markDirty(service: ObjectKey, event?: ObjectEvent): void {
    this.#ahead?.noteChange(service)
    if (this.#ahead?.isReady(service) === false) return
    this.#dirtyServices.add(service)
    // What comes before the first lists are complete is traced with them, not by itself.
    if (event !== undefined && this.isInitialised) this.#events.note(service, event)
    this.#scheduleFlush()
  }

  #markAllOf(services: Iterable<ObjectKey>, event?: ObjectEvent): void {
    for (const service of services) this.#markDirty(service, event)
  }

  #tell(service: ObjectKey, notices: readonly ServiceNotice[]): void {
    if (this.#ahead !== undefined) this.#ahead.keepNotices(service, notices)
    else this.#options.notices.tell(this.#options.family, service, notices)
  }

  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return
    this.#isFlushScheduled = true
    // A microtask runs after the source has handed over everything it read in one go.
    queueMicrotask(() => {
      this.#isFlushScheduled = false
      this.flush()
    })
  }

  #initialise(): void {
    const { catalog } = this.#options
    const ahead = this.#ahead
    if (ahead === undefined || !catalog.isInitialised) return
    this.#reasons.note('the first complete list', catalog.firstLists)
    for (const service of ahead.toBeRouted) this.#dirtyServices.add(service)
    this.#routeDirtyServices()
    this.#ahead = undefined
    this.#isFullDue = true
    for (const [service, notices] of ahead.notices) this.#tell(service, notices)
    this.#notify({ urgent: false, initialised: true })
  }

  #markAllDirty(): void {
    this.#markAllOf(this.#options.catalog.services.keys())
    this.#isFullDue = true
  }

  /** A deleted Node leaves its zone in place: the node is still where it is. */
  #readNode(event?: ObjectEvent): void {
    const { catalog, nodeName } = this.#options
    const node = catalog.nodes.get(nodeName as ObjectKey)
    if (node === undefined) return
    this.#markAllOf(this.#routing.setNodeIPs(node), event)
    const { zone } = node
    if (!this.#routing.setZone(zone)) return
    this.#reasons.note(`the node is in zone "${zone}" now`, [event?.link])
    this.#markAllDirty()
  }

  #readServiceCidrs(event?: ObjectEvent): void {
    const { catalog, family } = this.#options
    const cidrs = new Set<string>()
    for (const record of catalog.serviceCidrs.values())
      for (const cidr of record.cidrs) if (cidr.family === family) cidrs.add(renderCidr(cidr))
    const sorted = [...cidrs].sort()
    if (isSameData(sorted, this.#serviceCidrs)) return
    this.#serviceCidrs = sorted
    this.#reasons.note('the ServiceCIDRs changed', [event?.link])
    this.#scheduleFlush()
  }

  /** Returns what is pending for the Service now. */
  #reroute(service: ObjectKey): readonly PendingRoute[] {
    const before = this.#latestByService.get(service) ?? noRoutes
    const after = this.#routing.routesOf(service)
    if (after.length === 0) this.#latestByService.delete(service)
    else this.#latestByService.set(service, after)

    const news: PendingRoute[] = []
    const latestByKey = new Map<RouteKey, Route | undefined>(before.map(({ key }) => [key, undefined]))
    for (const route of after) latestByKey.set(route.key, route)
    for (const [key, route] of latestByKey) {
      const programmed = this.#routesByKey.get(key)
      if (isSameRoute(programmed, route)) this.#pendingByKey.delete(key)
      else {
        const pending = { key, route, isRemoval: programmed !== undefined && losesEndpoint(programmed, route) }
        this.#pendingByKey.set(key, pending)
        news.push(pending)
      }
    }
    return news
  }

  /**
   * Nothing else may be in here. The engine compiles a loop that runs for thousands of routes while it runs, knows nothing yet of
   * what comes after it, and would give that code up behind each later loop, for each change anew.
   */
  #commitAll(pending: readonly PendingRoute[]): void {
    for (const { key, route } of pending) {
      this.#pendingByKey.delete(key)
      this.#commit(key, route)
    }
  }

  #commit(key: RouteKey, route: Route | undefined): void {
    this.#countNoLocalEndpoints(this.#routesByKey.get(key), -1)
    this.#countNoLocalEndpoints(route, 1)
    if (route === undefined) this.#routesByKey.delete(key)
    else this.#routesByKey.set(key, route)
  }

  #countNoLocalEndpoints(route: Route | undefined, step: 1 | -1): void {
    if (route === undefined || !route.hasUsableEndpoint || route.localEndpoints.length > 0) return
    if (route.internal.outside.policy === 'Local') this.#noLocalEndpoints.internal += step
    if (route.external?.outside.policy === 'Local') this.#noLocalEndpoints.external += step
  }

  #reportPending(): void {
    this.#options.metrics.pendingChanges(this.#reasons.pending)
  }

  #notify(request: SyncRequest): void {
    for (const listener of this.#listeners) listener(request)
  }
}
