import { expect, test } from 'vitest'
import { OldConnections } from '../../core/age/old-connections.ts'
import type { Route, RouteKey } from '../../core/route.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import type { Wishes } from '../../core/testing/routes.ts'
import { MemorySockets } from '../../dataplane/sock-diag/memory-sockets.ts'

const ageMs = 100_000
const web = (wishes: Wishes = {}) =>
  testRoute('shop/web', {
    clusterIP: '10.96.0.1',
    nodePort: 30_080,
    endpoints: [testEndpoint('10.64.0.1', 8080), testEndpoint('10.64.0.2', 8080)],
    traffic: { maxConnectionAgeMs: ageMs },
    ...wishes,
  })
const db = testRoute('shop/db', { clusterIP: '10.96.0.2' })

class Site {
  readonly clock = new FakeClock()
  readonly log = new RecordingLogger()
  readonly sockets = new MemorySockets()
  readonly #stop = new AbortController()
  readonly #viewers = new Set<(keys: readonly RouteKey[]) => void>()
  #routes = new Map<RouteKey, Route>()
  #cookies = 0n
  #finds = 0
  ended = 0
  readonly done: Promise<void>

  constructor(options: { readonly isWanted?: boolean; readonly random?: () => number } = {}) {
    const { isWanted = true, random = () => 0.5 } = options
    const counting = new Proxy(this.sockets, {
      get: (sockets, name: keyof MemorySockets) => {
        if (name === 'find') this.#finds++
        const value = sockets[name]
        return typeof value === 'function' ? (value as () => unknown).bind(sockets) : value
      },
    })
    this.done = new OldConnections({
      view: () => ({
        family: 'ipv4',
        node: { name: 'here', zone: '', ip: '192.0.2.1' },
        routesByKey: this.#routes,
        serviceCidrs: [],
      }),
      watchView: (viewer) => {
        this.#viewers.add(viewer)
        return () => this.#viewers.delete(viewer)
      },
      localIps: () => ['192.0.2.1'],
      openSockets: () => Promise.resolve(counting),
      isWanted: () => isWanted,
      onEnded: (count) => (this.ended += count),
      random,
      clock: this.clock,
      log: this.log,
    }).run(this.#stop.signal)
  }

  /** How often the sockets of the machine were looked at. */
  get looks(): number {
    return this.#finds
  }

  async program(...routes: readonly Route[]): Promise<void> {
    const keys = [...this.#routes.keys(), ...routes.map(({ key }) => key)]
    this.#routes = new Map(routes.map((route) => [route.key, route]))
    for (const viewer of this.#viewers) viewer(keys)
    await this.clock.advance(0)
  }

  connect(ip: string, port: number, protocol: 'TCP' | 'UDP' = 'TCP'): void {
    const cookie = ++this.#cookies
    this.sockets.connect({ cookie, netns: cookie % 2n, protocol, ip, port })
  }

  get open(): readonly string[] {
    return this.sockets.connected().map(({ ip, port, protocol }) => `${ip}:${port} ${protocol}`)
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.done
  }
}

test('connections to a Service end when they are old, and no others', async () => {
  const site = new Site()
  await site.program(web(), db)
  for (const [ip, port] of [
    ['10.96.0.1', 80],
    ['192.0.2.1', 30_080],
    ['10.96.0.2', 80],
    ['198.51.100.1', 30_080],
  ] as const)
    site.connect(ip, port)
  site.connect('10.96.0.1', 80, 'UDP')
  await site.clock.advance(0.9 * ageMs)
  expect(site.open).toHaveLength(5)
  await site.clock.advance(0.3 * ageMs)
  expect(site.open).toEqual(['10.96.0.2:80 TCP', '198.51.100.1:30080 TCP', '10.96.0.1:80 UDP'])
  expect(site.ended).toBe(2)
  await site.stop()
})

test('each has its own age, from 90 % to 110 %', async () => {
  const numbers = [0, 1]
  const site = new Site({ random: () => numbers.shift() ?? 0.5 })
  await site.program(web())
  site.connect('10.96.0.1', 80)
  site.connect('10.96.0.1', 80)
  await site.clock.advance(0.88 * ageMs)
  expect(site.open).toHaveLength(2)
  await site.clock.advance(0.12 * ageMs)
  expect(site.open).toHaveLength(1)
  await site.clock.advance(0.08 * ageMs)
  expect(site.open).toHaveLength(1)
  await site.clock.advance(0.12 * ageMs)
  expect(site.open).toHaveLength(0)
  await site.stop()
})

test('a new connection begins a new age', async () => {
  const site = new Site()
  await site.program(web())
  site.connect('10.96.0.1', 80)
  await site.clock.advance(0.7 * ageMs)
  site.connect('10.96.0.1', 80)
  await site.clock.advance(0.5 * ageMs)
  expect(site.open).toHaveLength(1)
  await site.stop()
})

test('nobody looks at sockets unless a Service wants it, and seldom where it may take long', async () => {
  const site = new Site()
  await site.program(db, web({ traffic: undefined }), web({ protocol: 'UDP' }))
  await site.clock.advance(600_000)
  expect(site.looks).toBe(0)
  await site.program(web({ traffic: { maxConnectionAgeMs: 3_600_000 } }))
  await site.clock.advance(600_000)
  expect(site.looks).toBeGreaterThan(15)
  expect(site.looks).toBeLessThan(25)
  await site.stop()
})

test('a Service that wants it no more keeps its connections', async () => {
  const site = new Site()
  await site.program(web())
  site.connect('10.96.0.1', 80)
  await site.clock.advance(0.8 * ageMs)
  await site.program(web({ traffic: undefined }))
  await site.clock.advance(10 * ageMs)
  expect(site.open).toHaveLength(1)
  await site.stop()
})

test('a kernel that cannot is told at the start, once, with the annotation', async () => {
  const site = new Site()
  site.sockets.refuseWith = 'unsupported'
  await site.program(web())
  site.connect('10.96.0.1', 80)
  await site.clock.advance(10 * ageMs)
  expect(site.log.lines.filter(({ message }) => message === 'old connections cannot be ended')).toHaveLength(1)
  expect(site.looks).toBe(0)
  await site.stop()
})

test('a connection stays while its endpoint is the only one', async () => {
  const site = new Site()
  await site.program(web({ endpoints: [testEndpoint('10.64.0.1', 8080)] }))
  site.connect('10.96.0.1', 80)
  await site.clock.advance(10 * ageMs)
  expect(site.open).toHaveLength(1)
  await site.program(web())
  await site.clock.advance(1.2 * ageMs)
  expect(site.open).toHaveLength(0)
  await site.stop()
})

test('pods that this process may not look into are told of, once', async () => {
  const site = new Site()
  site.sockets.unreachable.add(1n)
  await site.program(web())
  await site.clock.advance(ageMs)
  expect(site.log.lines.filter(({ message }) => message === 'old connections of some pods are not ended')).toHaveLength(
    1,
  )
  await site.stop()
})

test('what fails otherwise is tried again', async () => {
  const site = new Site({ isWanted: false })
  await site.program(web())
  site.connect('10.96.0.1', 80)
  site.sockets.refuseWith = 'failed'
  await site.clock.advance(1.2 * ageMs)
  expect(site.open).toHaveLength(1)
  site.sockets.refuseWith = undefined
  await site.clock.advance(0.1 * ageMs)
  expect(site.open).toHaveLength(0)
  await site.stop()
})

test('a connection stays where the address that it is at has one endpoint, whatever others have', async () => {
  const site = new Site()
  const endpoints = [testEndpoint('10.64.0.1', 8080, { isLocal: true }), testEndpoint('10.64.0.2', 8080)]
  await site.program(web({ endpoints, internalPolicy: 'Local' }))
  site.connect('10.96.0.1', 80)
  site.connect('192.0.2.1', 30_080)
  await site.clock.advance(1.2 * ageMs)
  expect(site.open).toEqual(['10.96.0.1:80 TCP'])
  await site.stop()
})
