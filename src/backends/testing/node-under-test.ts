/** A node of a random cluster, whose data plane is in memory and whose backend is driven as the sync runner does it. */
import type { Backend, NodeView, SyncReport } from '../../core/backend.ts'
import type { Inspection } from '../../core/inspection.ts'
import type { Route, RouteKey } from '../../core/route.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { during } from '../../core/trace.ts'
import type { Span, SpanRecord, TraceSink } from '../../core/trace.ts'
import { TraceRecorder } from '../../observe/tracing/trace-recorder.ts'
import type { BackendSite, World } from './backend-site.ts'
import { clientsOf, everybody } from './clients.ts'
import type { Client, Clients, ServedClient } from './clients.ts'
import { accumulated, Cluster } from './random-history.ts'
import type { ClusterStep, Step, Work } from './random-history.ts'

const never = new AbortController().signal

export class NodeUnderTest<Damage, Settings> {
  readonly world: World<Damage, Settings>
  readonly cluster: Cluster
  /** What whoever watches has found. */
  readonly found: string[] = []
  /** Of the last syncs, the newest last. */
  readonly traces: SpanRecord[] = []
  readonly #site: BackendSite<Damage, Settings>
  #settings: Settings
  #process: Process
  /** What a sync did not program because it failed, or what it could not. */
  #unprogrammed: Work | undefined
  #view: NodeView
  #wasDamaged = false

  constructor(site: BackendSite<Damage, Settings>, start: readonly ClusterStep[], world = site.newWorld()) {
    this.#site = site
    this.#settings = site.settings
    this.world = world
    this.cluster = new Cluster(site.plan, start)
    this.#view = this.cluster.takeAll().view
    this.#process = this.#start()
  }

  get clock(): FakeClock {
    return this.#process.clock
  }

  /** Whether the next sync must be a full one. */
  async apply(...steps: readonly Step<Damage, Settings>[]): Promise<boolean> {
    let full = false
    for (const step of steps) if (await this.#apply(step)) full = true
    return full
  }

  /** The process is gone without a word, and another one starts. */
  async restart(): Promise<void> {
    await this.#process.kill()
    this.#process = this.#start()
  }

  async sync({ full }: { readonly full: boolean }, signal: AbortSignal = never): Promise<SyncReport> {
    const taken = this.cluster.take({ full })
    const work = this.#unprogrammed === undefined ? taken : accumulated(this.#unprogrammed, taken)
    this.#unprogrammed = work
    this.#view = work.view
    const { failed, ...report } = await this.#traced((span) =>
      this.#process.backend.sync(work.view, work.change, signal, span),
    )
    this.#unprogrammed = undefined
    return { ...report, failed: failed.filter(({ key }) => !this.#isHopeless(key)) }
  }

  /** Of the routes of the last sync. `isHeld`: the data plane must have something for it. */
  get keys(): readonly { readonly key: RouteKey; readonly isHeld: boolean }[] {
    const isHeld = (route: Route) => !this.#isHopeless(route.key) && this.#site.holdsNothingFor?.(route) !== true
    return Array.from(this.#view.routesByKey, ([key, route]) => ({ key, isHeld: isHeld(route) }))
  }

  /** As the process that runs now. */
  get backend(): Backend {
    return this.#process.backend
  }

  async inspect(key: RouteKey): Promise<Inspection | undefined> {
    return this.#process.backend.inspect?.(key, never)
  }

  #traced<T>(work: (span: Span) => Promise<T>): Promise<T> {
    return during(this.#process.tracer.start('syncProxyRules'), work)
  }

  /** The next sync looks at these again, although nothing changed. */
  retry(keys: readonly RouteKey[]): void {
    this.#unprogrammed = { view: this.#view, change: { full: false, keys, causes: [] } }
  }

  /** Who shall be served, as the cluster is now. */
  expected(): Clients {
    return this.#clientsOf(this.cluster.takeAll().view)
  }

  /** What is not as if the last view had been written into an empty data plane, and who is not served. */
  async problems(): Promise<readonly string[]> {
    return [...(await this.differences()), ...(await this.unserved())]
  }

  async differences(): Promise<readonly string[]> {
    const world = this.#site.newWorld()
    const clock = new FakeClock()
    const process = new Process(world.open({ settings: () => this.#settings, clock }), clock)
    const { view, change } = this.cluster.takeAll()
    await process.backend.sync(view, change, never)
    return differences(await this.#snapshot(), await world.snapshot({ wasDamaged: this.#wasDamaged }))
  }

  /** Who does not reach exactly the endpoints that the routes of the last view say. */
  async unserved(matters: (client: Client) => boolean = () => true): Promise<readonly string[]> {
    if (this.#settings !== this.#site.settings) return []
    const look = await this.world.look()
    return Array.from(this.#clientsOf(this.#view, everybody), ([text, { client, reach }]) => {
      const went = look(client).join()
      return matters(client) && went !== reach.join() ? [`${text} went to [${went}] and not to [${reach.join()}]`] : []
    }).flat()
  }

  /** Whoever all of these know shall be served now; tells who is not. */
  gaps(known: readonly [Clients, ...Clients[]]): Promise<readonly string[]> {
    return this.#gapsFor(knownToAll(known, this.#site))
  }

  /** The same at every moment while the work is done. */
  gapsDuring(known: readonly [Clients, ...Clients[]], work: () => Promise<unknown>): Promise<readonly string[]> {
    const served = knownToAll(known, this.#site)
    return this.#atEachMoment(work, () => this.#gapsFor(served))
  }

  /** What was different at any moment while the work was done. */
  async changesDuring(work: () => Promise<unknown>): Promise<readonly string[]> {
    const before = await this.#snapshot()
    return this.#atEachMoment(work, async () => differences(await this.#snapshot(), before))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.kill()
  }

  async #apply(step: Step<Damage, Settings>): Promise<boolean> {
    switch (step.do) {
      case 'put':
      case 'other policy':
      case 'remove':
      case 'service CIDRs':
        this.cluster.apply(step)
        return false
      case 'settings':
        this.#settings = step.settings
        return false
      case 'restart':
        await this.restart()
        return true
      case 'full sync':
        return true
      case 'damage':
        this.#wasDamaged = true
        await this.world.damage(step.damage)
        return true
      default:
        return step satisfies never
    }
  }

  async #atEachMoment(
    work: () => Promise<unknown>,
    look: () => Promise<readonly string[]>,
  ): Promise<readonly string[]> {
    const { calls } = this.world
    const seen: string[] = []
    calls.atEachMoment = async ({ method }) => {
      if (this.#site.writes.has(method)) seen.push(...(await look()))
    }
    await work().finally(() => (calls.atEachMoment = () => {}))
    return seen
  }

  async #gapsFor(served: Clients): Promise<readonly string[]> {
    const look = await this.world.look()
    return Array.from(served, ([text, { client, reach }]) => {
      const went = look(client)
      const isServed = went.length > 0 && went.every((endpoint) => reach.includes(endpoint))
      return isServed ? [] : [`${text} went to [${went.join()}]`]
    }).flat()
  }

  #snapshot(): Promise<readonly string[]> {
    return this.world.snapshot({ wasDamaged: this.#wasDamaged })
  }

  #clientsOf(view: NodeView, who = clientsOf): Clients {
    const { plan, cannotServe } = this.#site
    const routes = [...view.routesByKey].filter(([, route]) => cannotServe?.(route) !== true)
    return who({ ...view, routesByKey: new Map(routes) }, plan, this.#site)
  }

  /** The mode never serves it, and says so. */
  #isHopeless(key: RouteKey): boolean {
    const route = this.#view.routesByKey.get(key)
    return route !== undefined && this.#site.cannotServe?.(route) === true
  }

  #start(): Process {
    const clock = new FakeClock()
    const sink = { finished: (root: SpanRecord) => this.traces.push(root) }
    const process = new Process(this.world.open({ settings: () => this.#settings, clock }), clock, sink)
    this.world.calls.uncounted(() => process.watch((what) => this.found.push(what)))
    return process
  }
}

/** A backend and whoever watches for it. */
class Process {
  readonly backend: Backend
  readonly clock: FakeClock
  readonly tracer: TraceRecorder
  readonly #stop = new AbortController()
  #watching: Promise<void> | undefined

  constructor(backend: Backend, clock: FakeClock, sink?: TraceSink) {
    this.backend = backend
    this.clock = clock
    this.tracer = new TraceRecorder({ clock, ...(sink && { sinks: [sink] }) })
  }

  watch(onDrift: (found: string) => void): void {
    this.#watching = this.backend.watch?.(onDrift, this.#stop.signal)
  }

  async kill(): Promise<void> {
    this.#stop.abort()
    await this.#watching
  }
}

/** Those whom all know, with whatever endpoints one of them names; without those for whom there may be a gap. */
function knownToAll(
  [first, ...others]: readonly [Clients, ...Clients[]],
  {
    hasGapsInHandover = false,
    hasGapsInChange = false,
  }: Pick<BackendSite<unknown, unknown>, 'hasGapsInHandover' | 'hasGapsInChange'>,
): Clients {
  const all = new Map<string, ServedClient>()
  for (const [text, served] of first) {
    const same = others.map((clients) => clients.get(text)).filter((it) => it !== undefined)
    const isHandedOver = same.some(({ entrance }) => entrance !== served.entrance)
    const isChanged =
      isHandedOver ||
      same.some(({ isSticky, reach }) => isSticky !== served.isSticky || reach.join() !== served.reach.join())
    if (same.length < others.length || (hasGapsInHandover && isHandedOver) || (hasGapsInChange && isChanged)) continue
    all.set(text, { ...served, reach: [...served.reach, ...same.flatMap(({ reach }) => reach)] })
  }
  return all
}

function differences(actual: readonly string[], expected: readonly string[]): readonly string[] {
  const [ours, theirs] = [new Set(actual), new Set(expected)]
  return [
    ...expected.filter((line) => !ours.has(line)).map((line) => `- ${line}`),
    ...actual.filter((line) => !theirs.has(line)).map((line) => `+ ${line}`),
  ]
}
