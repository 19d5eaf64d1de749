import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Route } from '../../core/route.ts'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import type { ServerAddress } from '../../dataplane/ipvs/ipvs.ts'
import { hostPort } from '../../net/ip.ts'
import { anyKernelDamage, doKernelDamage } from './testing/kernel-damage.ts'
import type { MemoryKernel } from './testing/memory-kernel.ts'
import { nodeKernel, proxiedNode } from './testing/proxied-node.ts'

const never = new AbortController().signal

/** Few values, so that routes meet: on addresses, on set entries, on node ports. */
const anyRoute = fc
  .record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    protocol: fc.constantFrom('TCP', 'UDP', 'SCTP'),
    clusterIP: fc.constantFrom('10.96.0.1', '10.96.0.2'),
    port: fc.constantFrom(80, 443),
    nodePort: fc.constantFrom(undefined, 30_080, 30_081),
    externalIPs: fc.uniqueArray(fc.constantFrom('10.96.0.1', '198.51.100.1', '192.0.2.1'), { maxLength: 2 }),
    loadBalancerIPs: fc.uniqueArray(fc.constantFrom('198.51.100.1', '198.51.100.2'), { maxLength: 2 }),
    sourceRanges: fc.uniqueArray(fc.constantFrom('203.0.113.0/24', '203.0.113.7/32'), { maxLength: 2 }),
    sourceRangesCoverNode: fc.boolean(),
    endpoints: fc.uniqueArray(fc.constantFrom('10.64.0.1', '10.64.0.2', '10.64.1.1', '10.64.1.2'), { maxLength: 4 }),
    affinitySeconds: fc.constantFrom(undefined, undefined, 10_800),
    internalPolicy: fc.constantFrom('Cluster', 'Local'),
    externalPolicy: fc.constantFrom('Cluster', 'Local'),
    healthCheckNodePort: fc.constantFrom(undefined, 32_000),
  })
  .map(({ name, endpoints, ...rest }) =>
    testRoute(`shop/${name}`, {
      ...rest,
      endpoints: endpoints.map((ip) => testEndpoint(ip, 8080, { isLocal: ip.startsWith('10.64.0.') })),
    }),
  )
const anyRoutes = fc.uniqueArray(anyRoute, { selector: ({ key }) => key, maxLength: 5 })

interface Step {
  readonly routes: readonly Route[]
  readonly full: boolean
  /** Connections that endpoints have before the sync: these stay until they end. */
  readonly connections: number
}

const anyHistory = fc.array(
  fc.record({ routes: anyRoutes, full: fc.boolean(), connections: fc.constantFrom(0, 0, 1) }),
  { minLength: 1, maxLength: 8 },
)

test('writing only what changed leaves what writing everything would leave, once connections have ended', async () => {
  await fc.assert(
    fc.asyncProperty(anyHistory, async (history) => {
      const last = history.at(-1)?.routes ?? []
      expect(await after(history)).toEqual(await after([{ routes: last, full: true, connections: 0 }]))
    }),
    { numRuns: 60 },
  )
})

test('our own writing is never taken for drift', async () => {
  await fc.assert(
    fc.asyncProperty(anyHistory, async (history) => {
      const { sync, backend, clock, kernel } = proxiedNode({ looksForDrift: true })
      const found: string[] = []
      const stop = new AbortController()
      const watching = backend.watch((what) => found.push(what), stop.signal)
      for (const [index, { routes, full, connections }] of history.entries()) {
        await setConnections(kernel, connections)
        await sync(routes, { full: full || index === 0 })
        await clock.advance(2_000)
      }
      stop.abort()
      await watching
      expect(found).toEqual([])
    }),
    { numRuns: 60 },
  )
})

test('what the kernel refused is not taken for drift, and a full sync makes up for it', async () => {
  const anyRefused = fc.constantFrom('10.96.0.1', '198.51.100.1', '192.0.2.1', '10.64.0.1')
  const anyRefusals = fc.array(fc.record({ ip: anyRefused, does: fc.constantFrom('add', 'delete') }), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(anyHistory, anyRefusals, async (history, refusals) => {
      const { sync, backend, clock, kernel } = proxiedNode({ looksForDrift: true })
      const found: string[] = []
      const stop = new AbortController()
      const watching = backend.watch((what) => found.push(what), stop.signal)
      await sync([], { full: true })
      for (const [index, { routes, full }] of history.entries()) {
        refuse(kernel, refusals[index])
        await sync(routes, { full })
        await clock.advance(5_000)
      }
      refuse(kernel, undefined)
      const routes = history.at(-1)?.routes ?? []
      await sync(routes, { full: true })
      stop.abort()
      await watching
      expect(found).toEqual([])
      expect(await kernel.snapshot()).toEqual(await after([{ routes, full: true, connections: 0 }]))
    }),
    { numRuns: 60 },
  )
})

test('whatever others did in between, the next full sync repairs it', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyHistory,
      fc.array(anyKernelDamage, { maxLength: 8 }),
      anyRoutes,
      async (history, damages, routes) => {
        const kernel = nodeKernel()
        const { sync } = proxiedNode({ kernel })
        await sync([], { full: true })
        for (const [index, step] of history.entries()) {
          await setConnections(kernel, step.connections)
          // A partial sync may meet the damage, or not see it.
          await sync(step.routes, step)
          const damage = damages[index]
          if (damage !== undefined) await doKernelDamage(kernel, damage)
        }
        await setConnections(kernel, 0)
        await sync(routes, { full: true })
        expect(await kernel.snapshot()).toEqual(await after([{ routes, full: true, connections: 0 }]))
      },
    ),
    { numRuns: 60 },
  )
})

async function after(history: readonly Step[], kernel = nodeKernel()): Promise<readonly string[]> {
  const { sync, backend, clock } = proxiedNode({ kernel })
  const stop = new AbortController()
  const watching = backend.watch(() => {}, stop.signal)
  await sync([], { full: true })
  for (const { routes, full, connections } of history) {
    await setConnections(kernel, connections)
    await sync(routes, { full })
  }
  await setConnections(kernel, 0)
  await clock.advance(60_000)
  stop.abort()
  await watching
  return kernel.snapshot()
}

function refuse({ ipvs, ipset, addresses }: MemoryKernel, what: { ip: string; does: string } | undefined): void {
  ipvs.refuse = (operation) => {
    const ips = [operation.server.ip, 'realServer' in operation ? operation.realServer.ip : undefined]
    return what !== undefined && operation.kind.startsWith(what.does) && ips.includes(what.ip) ? 'refused' : undefined
  }
  ipset.refuse = ({ kind, entry }) => (what?.does === kind && entry.startsWith(what.ip) ? 'full' : undefined)
  addresses.refusedIps = new Set(what?.does === 'add' ? [what.ip] : [])
}

async function setConnections({ ipvs }: MemoryKernel, count: number): Promise<void> {
  for (const { realServers, ...server } of await ipvs.list(never))
    for (const { ip, port } of realServers)
      ipvs.setConnections(server satisfies ServerAddress, hostPort(ip, port), count, 0)
}
