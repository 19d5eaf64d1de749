import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import type { Change } from '../../core/backend.ts'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import type { Route, RouteKey } from '../../core/route.ts'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import { NodeRelay } from '../../dataplane/relay/node/node-relay.ts'
import { ask, askTimes, udpClient } from '../../dataplane/relay/testing/clients.ts'
import { namedEndpoint, udpEndpoint, type TestEndpoint } from '../../dataplane/relay/testing/endpoints.ts'
import { freePort, isWholeLoopbackLocal, ownLoopback } from '../../dataplane/relay/testing/own-loopback.ts'
import { use } from '../../dataplane/relay/testing/relay-under-test.ts'
import type { ListenPolicy } from './plan.ts'
import { UserspaceBackend } from './userspace-backend.ts'

const never = new AbortController().signal

const loopback: ListenPolicy = { kind: 'loopback' }
const serviceAddresses: ListenPolicy = { kind: 'service-addresses' }

test('a Service is balanced over its endpoints at the address the backend tells', async () => {
  const { sync, addressOf } = given(loopback)
  const web = testRoute('shop/web', { endpoints: await pods('a', 'b') })
  expect(await sync([web])).toMatchObject({ failed: [] })
  expect(await askTimes(addressOf(web), 4)).toEqual({ a: 2, b: 2 })
})

test('a UDP Service answers too', async () => {
  const { sync, addressOf } = given(loopback)
  const dns = testRoute('shop/dns', { protocol: 'UDP', endpoints: [toEndpoint(use(await udpEndpoint('a')))] })
  await sync([dns])
  expect(await use(await udpClient()).ask(addressOf(dns), 'hello')).toBe('a:hello')
})

test('an endpoint change applies without another address', async () => {
  const { sync, addressOf } = given(loopback)
  const before = testRoute('shop/web', { endpoints: await pods('a') })
  const after = testRoute('shop/web', { endpoints: await pods('b') })
  await sync([before])
  const address = addressOf(before)
  await sync([after], [after.key])
  expect(addressOf(after)).toEqual(address)
  expect(await ask(address)).toBe('b')
})

test('on loopback a Service is at its own port, and two Services with one port both work', async () => {
  const { sync, addressOf } = given(loopback)
  const port = await freePort()
  const first = testRoute('shop/a', { port, endpoints: await pods('a') })
  const second = testRoute('shop/b', { port, endpoints: await pods('b') })
  expect(await sync([first, second])).toMatchObject({ failed: [] })
  expect(addressOf(first)).toEqual({ ip: '127.0.0.1', port, protocol: 'TCP', purpose: 'cluster-ip' })
  expect(addressOf(second).port).not.toBe(port)
  expect(await ask(addressOf(second))).toBe('b')
})

test('a Service that changes its port moves there, and leaves the old one', async () => {
  const { sync, addressOf } = given(loopback)
  const [oldPort, newPort] = [await freePort(), await freePort()]
  const before = testRoute('shop/web', { port: oldPort, endpoints: await pods('a') })
  const after = testRoute('shop/web', { port: newPort, endpoints: before.endpoints })
  await sync([before])
  const address = addressOf(before)
  await sync([after], [after.key])
  expect(addressOf(after).port).toBe(newPort)
  expect(await ask(address)).toBe('ECONNREFUSED')
})

test('a Service that comes back is at the port it had', async () => {
  const { sync, addressOf } = given(loopback)
  const web = testRoute('shop/web', { endpoints: await pods('a') })
  await sync([web])
  const address = addressOf(web)
  await sync([], [web.key])
  expect(await ask(address)).toBe('ECONNREFUSED')
  await sync([web], [web.key])
  expect(addressOf(web)).toEqual(address)
})

test('a sync looks at the changed routes only', async () => {
  const { backend, sync } = given(loopback)
  const [a, b] = [testRoute('shop/a'), testRoute('shop/b')]
  expect(await sync([a, b], [a.key])).toMatchObject({ facts: { routes: 1 } })
  expect(backend.addressesOf(a.key)).toHaveLength(1)
  expect(backend.addressesOf(b.key)).toEqual([])
})

test('a full sync also closes what is gone without being told', async () => {
  const { relay, sync, addressOf } = given(loopback)
  const [a, b] = [testRoute('shop/a'), testRoute('shop/b')]
  await sync([a, b])
  const gone = addressOf(a)
  expect(await sync([b])).toMatchObject({ facts: { closed: 1, listeners: 1 } })
  expect(await ask(gone)).toBe('ECONNREFUSED')
  expect(relay.stats().listeners).toHaveLength(1)
})

test.runIf(isWholeLoopbackLocal)(
  'Services listen on their own addresses, with the endpoints each policy allows',
  async () => {
    const { backend, sync } = given(serviceAddresses)
    const port = await freePort()
    const [here, there] = await pods('here', 'there')
    const web = testRoute('shop/web', {
      clusterIP: ownLoopback(1),
      externalIPs: [ownLoopback(2)],
      loadBalancerIPs: [ownLoopback(3)],
      port,
      endpoints: [{ ...here, isLocal: true }, there],
      externalPolicy: 'Local',
      sourceRanges: ['127.9.0.0/16'],
    })
    expect(await sync([web])).toMatchObject({ failed: [] })
    expect(backend.addressesOf(web.key)).toEqual([
      { ip: ownLoopback(1), port, protocol: 'TCP', purpose: 'cluster-ip' },
      { ip: ownLoopback(2), port, protocol: 'TCP', purpose: 'external-ip' },
      { ip: ownLoopback(3), port, protocol: 'TCP', purpose: 'load-balancer-ip' },
    ])
    expect(await askTimes({ ip: ownLoopback(1), port }, 4)).toEqual({ here: 2, there: 2 })
    expect(await askTimes({ ip: ownLoopback(2), port }, 4)).toEqual({ here: 4 })
    expect(await ask({ ip: ownLoopback(3), port }, '', '127.9.1.1')).toBe('here')
    expect(await ask({ ip: ownLoopback(3), port }, '', '127.8.1.1')).toBe('ECONNRESET')
  },
)

test('without endpoints a client is refused; without a local one it is only closed', async () => {
  const { sync, addressOf } = given(loopback)
  const nobody = testRoute('shop/nobody')
  const elsewhere = testRoute('shop/elsewhere', { internalPolicy: 'Local', endpoints: await pods('there') })
  await sync([nobody, elsewhere])
  expect(await ask(addressOf(nobody))).toBe('ECONNRESET')
  expect(await ask(addressOf(elsewhere))).toBe('')
})

test.runIf(isWholeLoopbackLocal)('an address this machine does not have fails that route and no other', async () => {
  const { sync, backend } = given(serviceAddresses)
  const away = testRoute('shop/away', { clusterIP: '192.0.2.77', port: await freePort() })
  const here = testRoute('shop/here', { clusterIP: ownLoopback(4), port: await freePort() })
  const { failed } = await sync([away, here])
  expect(failed).toEqual([
    {
      key: away.key,
      reason: `cluster-ip: cannot listen on 192.0.2.77:${away.port}/TCP: 192.0.2.77 is not an address of this machine; add it to an interface to serve it here`,
    },
  ])
  expect(backend.addressesOf(here.key)).toHaveLength(1)
})

test('an SCTP route is reported and the others are served', async () => {
  const { sync, backend } = given(loopback)
  const sctp = testRoute('shop/signal', { protocol: 'SCTP' })
  const web = testRoute('shop/web')
  const { failed } = await sync([sctp, web])
  expect(failed.map(({ key }) => key)).toEqual([sctp.key])
  expect(backend.addressesOf(web.key)).toHaveLength(1)
})

test.runIf(isWholeLoopbackLocal)(
  'of two Services with one address the second is told who has it, and gets it when the first goes',
  async () => {
    const { sync, backend } = given(serviceAddresses)
    const place = { clusterIP: ownLoopback(5), port: await freePort() }
    const first = testRoute('shop/first', { ...place, endpoints: await pods('first') })
    const second = testRoute('shop/second', { ...place, endpoints: await pods('second') })
    const { failed } = await sync([first, second])
    expect(failed).toEqual([
      {
        key: second.key,
        reason: `cluster-ip: cannot listen on ${ownLoopback(5)}:${place.port}/TCP: shop/first/TCP already uses it; give one of the two Services another port or address`,
      },
    ])
    expect(await sync([second], [first.key])).toMatchObject({ failed: [] })
    expect(backend.addressesOf(second.key)).toHaveLength(1)
    expect(await ask({ ip: place.clusterIP, port: place.port })).toBe('second')
  },
)

test.runIf(isWholeLoopbackLocal)(
  'an address that another process has is taken at a later sync, once it is free',
  async () => {
    const { sync } = given(serviceAddresses)
    const other = createServer().listen({ port: 0, host: ownLoopback(6) })
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const web = testRoute('shop/web', { clusterIP: ownLoopback(6), port, endpoints: await pods('a') })
    const unrelated = testRoute('shop/unrelated', { clusterIP: ownLoopback(7), port: await freePort() })
    expect((await sync([web])).failed[0]?.reason).toContain(
      `cannot listen on ${ownLoopback(6)}:${port}/TCP: the address is already`,
    )
    other.close()
    await once(other, 'close')
    expect(await sync([web, unrelated], [unrelated.key])).toMatchObject({ failed: [] })
    expect(await ask({ ip: ownLoopback(6), port })).toBe('a')
  },
)

test.runIf(isWholeLoopbackLocal)('two Services may swap their addresses in one sync', async () => {
  const { sync } = given(serviceAddresses)
  const [x, y] = [
    { clusterIP: ownLoopback(8), port: await freePort() },
    { clusterIP: ownLoopback(9), port: await freePort() },
  ]
  const [a, b] = await pods('a', 'b')
  await sync([testRoute('shop/a', { ...x, endpoints: [a] }), testRoute('shop/b', { ...y, endpoints: [b] })])
  const swapped = [testRoute('shop/a', { ...y, endpoints: [a] }), testRoute('shop/b', { ...x, endpoints: [b] })]
  expect(
    await sync(
      swapped,
      swapped.map(({ key }) => key),
    ),
  ).toMatchObject({ failed: [] })
  expect(await ask({ ip: x.clusterIP, port: x.port })).toBe('b')
  expect(await ask({ ip: y.clusterIP, port: y.port })).toBe('a')
})

test('two families share one relay', async () => {
  const { sync, relay, addressOf } = given(loopback)
  const ipv6 = new UserspaceBackend({ relay, listen: loopback, log: silentLogger })
  const v4 = testRoute('shop/web', { endpoints: await pods('four') })
  const v6 = testRoute('shop/web', {
    family: 'ipv6',
    endpoints: [toEndpoint(use(await namedEndpoint('six', { ip: '::1' })))],
  })
  await sync([v4])
  await ipv6.sync({ ...testView(v6), family: 'ipv6' }, changeOf([v6]), new AbortController().signal)
  expect(await ask(addressOf(v4))).toBe('four')
  expect(ipv6.addressesOf(v6.key)).toMatchObject([{ ip: '::1' }])
  expect(await ask(ipv6.addressesOf(v6.key)[0] ?? { ip: '', port: 0 })).toBe('six')
})

test('a Service is counted from its first connection on, also after it has moved to another port', async () => {
  const { backend, sync, addressOf } = given(loopback)
  const carried = async ({ key }: Route) => (await backend.traffic(never)).get(key)
  const [oldPort, newPort] = [await freePort(), await freePort()]
  const before = testRoute('shop/web', { port: oldPort, endpoints: await pods('abc') })
  const after = testRoute('shop/web', { port: newPort, endpoints: before.endpoints })
  await sync([before])
  await ask(addressOf(before), 'hello')
  await expect.poll(() => carried(before)).toMatchObject({ open: 0 })
  await sync([after], [after.key])
  await ask(addressOf(after), 'hello')
  await expect.poll(() => carried(after)).toMatchObject({ connections: 2, open: 0, bytesOut: 6 })
  await sync([], [after.key])
  expect((await backend.traffic(never)).size).toBe(0)
})

test('each endpoint of a Service has its own numbers, whichever address clients use', async () => {
  const { backend, sync, addressOf } = given(loopback)
  const web = testRoute('shop/web', { port: await freePort(), endpoints: await pods('abc', 'de') })
  await sync([web])
  for (let round = 0; round < 4; round++) await ask(addressOf(web), 'hello')
  const endpoints = async () => (await backend.traffic(never)).get(web.key)?.endpoints
  await expect.poll(async () => [...((await endpoints())?.values() ?? [])].map(({ open }) => open)).toEqual([0, 0])
  expect([...((await endpoints())?.keys() ?? [])].toSorted()).toEqual(
    web.endpoints.map(({ address }) => address).toSorted(),
  )
  for (const one of (await endpoints())?.values() ?? [])
    expect(one).toMatchObject({ connections: 2, bytesIn: 10, dialFailures: 0 })
})

test('disposing stops listening', async () => {
  const { backend, relay, sync, addressOf } = given(loopback)
  const web = testRoute('shop/web')
  await sync([web])
  const address = addressOf(web)
  await backend[Symbol.asyncDispose]()
  expect(relay.stats().listeners).toEqual([])
  expect(await ask(address)).toBe('ECONNREFUSED')
})

function given(listen: ListenPolicy) {
  const relay = use(new NodeRelay({ log: silentLogger, clock: systemClock }))
  const backend = new UserspaceBackend({ relay, listen, log: silentLogger })
  return {
    relay,
    backend,
    /** A full sync, unless the changed keys are given. */
    sync: (routes: readonly Route[], keys?: readonly RouteKey[]) =>
      backend.sync(testView(...routes), changeOf(routes, keys), new AbortController().signal),
    addressOf(this: void, { key }: Route) {
      const [address] = backend.addressesOf(key)
      if (address === undefined) throw new Error(`${key} is not served`)
      return address
    },
  }
}

function changeOf(routes: readonly Route[], keys?: readonly RouteKey[]): Change {
  return { full: keys === undefined, keys: keys ?? routes.map(({ key }) => key), causes: [] }
}

async function pods<Names extends readonly string[]>(...names: Names) {
  const endpoints = await Promise.all(names.map((name) => namedEndpoint(name)))
  return endpoints.map((endpoint) => toEndpoint(use(endpoint))) as { [_ in keyof Names]: ReturnType<typeof toEndpoint> }
}

function toEndpoint({ address }: TestEndpoint) {
  return testEndpoint(address.ip, address.port)
}
