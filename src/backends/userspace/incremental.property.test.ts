import fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import type { Route, RouteKey } from '../../core/route.ts'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import { NodeRelay } from '../../dataplane/relay/node/node-relay.ts'
import type { ListenerSpec, PoolSpec, Relay } from '../../dataplane/relay/relay.ts'
import { freePort, isWholeLoopbackLocal, ownLoopback } from '../../dataplane/relay/testing/own-loopback.ts'
import type { ListenPolicy } from './plan.ts'
import { UserspaceBackend } from './userspace-backend.ts'

const port = await freePort()

/** What may be different from one view to the next: few values, so that routes meet on the same addresses. */
const arbitraryRoute = fc
  .record({
    name: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    protocol: fc.constantFrom('TCP', 'UDP', 'SCTP'),
    clusterIP: fc.constantFrom(ownLoopback(101), ownLoopback(102), '192.0.2.55'),
    externalIPs: fc.uniqueArray(fc.constantFrom(ownLoopback(101), ownLoopback(103)), { maxLength: 2 }),
    loadBalancerIPs: fc.uniqueArray(fc.constantFrom(ownLoopback(103), ownLoopback(104)), { maxLength: 2 }),
    endpoints: fc.uniqueArray(fc.constantFrom('10.64.0.1', '10.64.0.2', '10.64.0.3'), { maxLength: 3 }),
    isLocalOnly: fc.boolean(),
    affinitySeconds: fc.constantFrom(undefined, 60),
  })
  .map(({ name, endpoints, isLocalOnly, ...rest }) =>
    testRoute(`shop/${name}`, {
      ...rest,
      port,
      endpoints: endpoints.map((ip) => testEndpoint(ip, 8080, { isLocal: ip.endsWith('1') })),
      externalPolicy: isLocalOnly ? 'Local' : 'Cluster',
    }),
  )
const arbitraryRoutes = fc.uniqueArray(arbitraryRoute, { selector: ({ key }) => key, maxLength: 6 })
const arbitraryHistory = fc.array(fc.record({ routes: arbitraryRoutes, full: fc.boolean() }), {
  minLength: 1,
  maxLength: 8,
})

for (const listen of [{ kind: 'service-addresses' }, { kind: 'loopback' }] as const satisfies readonly ListenPolicy[])
  test.runIf(isWholeLoopbackLocal)(
    `after any history exactly the listeners of the last view are there (${listen.kind})`,
    async () => {
      await fc.assert(
        fc.asyncProperty(arbitraryHistory, async (history) => {
          const stepwise = await listenersAfter(history, listen)
          const atOnce = await listenersAfter([{ routes: history.at(-1)?.routes ?? [], full: true }], listen)
          expect(stepwise).toEqual(atOnce)
        }),
        { numRuns: 150 },
      )
    },
  )

type History = readonly { readonly routes: readonly Route[]; readonly full: boolean }[]

async function listenersAfter(history: History, listen: ListenPolicy): Promise<unknown> {
  await using relay = recordingRelay()
  const backend = new UserspaceBackend({ relay, listen, log: silentLogger })
  let before: readonly Route[] = []
  for (const { routes, full } of history) {
    const keys = full ? routes.map(({ key }) => key) : changedKeys(before, routes)
    await backend.sync(testView(...routes), { full, keys, causes: [] }, new AbortController().signal)
    before = routes
  }
  return listen.kind === 'loopback' ? relay.pools() : relay.addresses()
}

function changedKeys(before: readonly Route[], after: readonly Route[]): readonly RouteKey[] {
  const removed = before.filter(({ key }) => !after.some((route) => route.key === key))
  const changed = after.filter((route) => !before.includes(route))
  return [...removed, ...changed].map(({ key }) => key)
}

/** The real relay, with a note of what it was last told about each listener. */
function recordingRelay() {
  const relay = new NodeRelay({ log: silentLogger, clock: systemClock })
  const poolsById = new Map<string, PoolSpec>()
  return {
    set(spec: ListenerSpec) {
      poolsById.set(spec.id, spec.pool)
      return relay.set(spec)
    },
    remove: (id: string) => relay.remove(id),
    counts: (id: string) => relay.counts(id),
    endpointCounts: (pool: string) => relay.endpointCounts(pool),
    totals: () => relay.totals(),
    stats: () => relay.stats(),
    [Symbol.asyncDispose]: () => relay[Symbol.asyncDispose](),
    /** Routes may contend for an address: who has it depends on the order, but somebody must. */
    addresses: () =>
      relay
        .stats()
        .listeners.map(({ protocol, address }) => `${protocol} ${address.ip}`)
        .sort(),
    /** On loopback everybody has a place, with the endpoints of the last view. */
    pools: () =>
      relay
        .stats()
        .listeners.map(({ id }) => id)
        .sort()
        .map((id) => ({ id, pool: poolsById.get(id) })),
  } satisfies Relay & Record<string, unknown>
}
