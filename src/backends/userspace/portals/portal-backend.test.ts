import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { testEndpoint, testRoute, withWishes } from '../../../core/testing/routes.ts'
import { ask } from '../../../dataplane/relay/testing/clients.ts'
import { namedEndpoint } from '../../../dataplane/relay/testing/endpoints.ts'
import { freePort } from '../../../dataplane/relay/testing/own-loopback.ts'
import { use } from '../../../dataplane/relay/testing/relay-under-test.ts'
import { FreePorts } from '../free-ports.ts'
import { onLoopback, portalsUnderTest, savedRules } from './testing/portals-under-test.ts'

const never = new AbortController().signal

test('the rules of a new Service lead to a port where its endpoint answers', async () => {
  const { sync, ports } = portalsUnderTest()
  const web = testRoute('shop/web', { endpoints: [await pod('a')] })
  expect(await sync([web])).toMatchObject({ failed: [] })
  const [fromPods, fromHost, ...others] = await ports(web)
  expect(others).toEqual([])
  expect(fromPods).toBe(fromHost)
  expect(await ask({ ip: '127.0.0.1', port: fromPods ?? 0 })).toBe('a')
})

test('a listener is there before the first rule leads to it, and after the last', async () => {
  const { events, sync } = portalsUnderTest()
  const web = testRoute('shop/web')
  await sync([web])
  await sync([], [web.key])
  expect(events).toEqual(['listen shop/web/TCP', 'restore', 'restore', 'close shop/web/TCP'])
})

test('other endpoints cost no rule', async () => {
  const { events, kernel, sync, ports } = portalsUnderTest()
  await sync([testRoute('shop/web', { endpoints: [await pod('a')] }), testRoute('shop/other')])
  const before = await savedRules(kernel)
  events.length = 0
  const web = testRoute('shop/web', { endpoints: [await pod('b')] })
  await sync([web, testRoute('shop/other')], [web.key])
  expect(events).toEqual([])
  expect(await savedRules(kernel)).toBe(before)
  expect(await ask({ ip: '127.0.0.1', port: (await ports(web))[0] ?? 0 })).toBe('b')
})

test('a changed Service is edited where it stands, and the others are not written again', async () => {
  const { kernel, sync } = portalsUnderTest()
  const others = Array.from({ length: 50 }, (_, n) => testRoute(`load/s${n}`, { clusterIP: `10.97.0.${n + 1}` }))
  const web = testRoute('shop/web')
  await sync([...others, web])
  const report = await sync([...others, withWishes(web, { externalIPs: ['198.51.100.7'] })], [web.key])
  expect(report.facts).toMatchObject({ natRules: 5 })
  expect(kernel.lastInput).not.toContain('load/')
})

test('proxy ports come from the range that was given; who finds none left is named, and gets one that is freed', async () => {
  // The second of the two is somebody else's.
  const range = await twoFreePorts()
  const server = createServer().listen({ port: range.last, host: '127.0.0.1' })
  await once(server, 'listening')
  const { sync, ports } = portalsUnderTest({ freePorts: new FreePorts({ range, isRangeBinding: true }) })
  const [first, second] = [testRoute('shop/first'), testRoute('shop/second', { clusterIP: '10.96.0.11' })]
  const { failed } = await sync([first, second])
  expect(failed).toEqual([
    {
      key: second.key,
      reason: `proxy-port: no port of ${range.first}-${range.last} is left for TCP: widen --proxy-port-range (portRange in a file), or use a kernel mode`,
    },
  ])
  expect(await ports(first)).toEqual([range.first, range.first])
  expect(await ports(second)).toEqual([])

  server.close()
  await once(server, 'close')
  expect(await sync([first, second], [])).toMatchObject({ failed: [] })
  expect(await ports(second)).toEqual([range.last, range.last])
})

test('a Service whose rules the kernel refuses is left out and named, and the others are served', async () => {
  const { kernel, sync } = portalsUnderTest({ missingMatches: new Set(['physdev']) })
  const bad = testRoute('shop/bad', { externalIPs: ['198.51.100.7'] })
  const good = testRoute('shop/good', { clusterIP: '10.96.0.11' })
  const { failed } = await sync([bad, good])
  expect(failed).toEqual([{ key: bad.key, reason: expect.stringContaining('physdev') }])
  expect(await savedRules(kernel)).toContain('"shop/good"')
  expect(await sync([withWishes(bad, { externalIPs: [] }), good], [bad.key])).toMatchObject({ failed: [] })
  expect(await savedRules(kernel)).toContain('"shop/bad"')
})

test('a node port that a program of the node has stays closed, and opens when it is free', async () => {
  const { kernel, sync } = portalsUnderTest()
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const address = other.address()
  const nodePort = typeof address === 'object' && address !== null ? address.port : 0
  const web = testRoute('shop/web', { nodePort })
  const { failed } = await sync([web])
  expect(failed).toEqual([{ key: web.key, reason: expect.stringContaining('node-port: cannot listen on') }])
  expect(await savedRules(kernel)).toContain('-A KUBE-PORTALS-CONTAINER')
  expect(await savedRules(kernel)).not.toContain('-A KUBE-NODEPORT')
  other.close()
  await once(other, 'close')
  expect(await sync([web], [])).toMatchObject({ failed: [] })
  expect(await savedRules(kernel)).toContain(`--dport ${nodePort} -j DNAT`)
})

test('a node port passes from one Service to another in one sync', async () => {
  const { kernel, sync } = portalsUnderTest()
  const nodePort = await freePort()
  const [a, b] = [testRoute('shop/a', { nodePort }), testRoute('shop/b', { clusterIP: '10.96.0.11' })]
  await sync([a, b])
  const moved = [withWishes(a, { nodePort: undefined }), withWishes(b, { nodePort })]
  expect(await sync(moved, [b.key, a.key])).toMatchObject({ failed: [] })
  const held = (await savedRules(kernel)).split('\n').filter((line) => line.includes(`--dport ${nodePort} `))
  expect(held).toHaveLength(2)
  for (const line of held) expect(line).toContain('"shop/b"')
})

test('when a write fails, listeners stay and everything is written next time', async () => {
  const { kernel, sync, ports, events } = portalsUnderTest()
  const [web, other] = [testRoute('shop/web', { endpoints: [await pod('a')] }), testRoute('shop/other')]
  await sync([web])
  const [port] = await ports(web)
  kernel.failures = 1
  await expect(sync([other], [web.key, other.key])).rejects.toMatchObject({ reason: 'locked' })
  expect(await ask({ ip: '127.0.0.1', port: port ?? 0 })).toBe('a')
  events.length = 0
  await sync([other])
  expect(events).toEqual(['restore', 'close shop/web/TCP'])
  expect(await savedRules(kernel)).not.toContain('"shop/web"')
})

test('a port that loses its last endpoint keeps it until no rule leads there', async () => {
  const { kernel, sync, ports } = portalsUnderTest()
  const inside = testRoute('shop/web', { endpoints: [await pod('a')], internalPolicy: 'Local' })
  await sync([inside])
  const [port = 0] = await ports(inside)
  // The same port, but for clients outside now, and nobody on this node serves them.
  const outside = testRoute('shop/web', {
    endpoints: [{ ...(await pod('b')), isLocal: false }],
    externalIPs: ['198.51.100.7'],
    externalPolicy: 'Local',
  })
  kernel.failures = 1
  await expect(sync([outside], [outside.key])).rejects.toMatchObject({ reason: 'locked' })
  expect(await ask({ ip: '127.0.0.1', port })).toBe('a')
  await sync([outside])
  expect(await ask({ ip: '127.0.0.1', port })).toBe('')
})

test('settings that have changed are written for all Services', async () => {
  const settings = { ...onLoopback }
  const { kernel, sync } = portalsUnderTest({
    settings: () => ({ ...settings, localTraffic: { ...settings.localTraffic } }),
  })
  const web = testRoute('shop/web', { loadBalancerIPs: ['203.0.113.7'], externalPolicy: 'Local' })
  await sync([web])
  Object.assign(settings, { localTraffic: { kind: 'cidr', cidr: '10.64.0.0/16' } })
  await sync([web], [])
  expect(await savedRules(kernel)).toContain('-s 10.64.0.0/16 -d 203.0.113.7/32')
})

test('what others change is noticed', async () => {
  const { backend, kernel, sync, clock } = portalsUnderTest()
  await sync([testRoute('shop/web')])
  const stop = new AbortController()
  const found: string[] = []
  const watching = backend.watch((what) => found.push(what), stop.signal)
  await clock.advance(2_000)
  expect(found).toEqual([])
  await kernel.restore('*nat\n-F KUBE-PORTALS-HOST\nCOMMIT\n', never)
  await clock.advance(10_000)
  expect(found[0]).toContain('chain nat/KUBE-PORTALS-HOST lacks: ')
  stop.abort()
  await clock.advance(0)
  await watching
})

test('the end takes the rules away first, and then the listeners', async () => {
  const { backend, kernel, events, sync } = portalsUnderTest()
  await sync([testRoute('shop/web')])
  events.length = 0
  await backend[Symbol.asyncDispose]()
  expect(events).toEqual(['restore', 'restore', 'close shop/web/TCP'])
  expect(await savedRules(kernel)).not.toContain('KUBE-')
})

test('an end before the first sync touches no rule', async () => {
  const { backend, events } = portalsUnderTest()
  await backend[Symbol.asyncDispose]()
  expect(events).toEqual([])
})

test('at the end listeners close even when the rules cannot be removed', async () => {
  const { backend, kernel, events, sync } = portalsUnderTest()
  await sync([testRoute('shop/web')])
  kernel.failures = 1
  await backend[Symbol.asyncDispose]()
  expect(events.at(-1)).toBe('close shop/web/TCP')
})

async function pod(name: string) {
  const { address } = use(await namedEndpoint(name))
  return testEndpoint(address.ip, address.port, { isLocal: true })
}

/** Neighbours that nobody has, below those that the kernel gives out. */
async function twoFreePorts() {
  for (let first = 20_000 + (process.pid % 5_000) * 2; ; first += 2) {
    const servers = [first, first + 1].map((port) => createServer().listen({ port, host: '127.0.0.1' }))
    const opened = await Promise.allSettled(servers.map((server) => once(server, 'listening')))
    for (const server of servers) server.close()
    if (opened.every(({ status }) => status === 'fulfilled')) return { first, last: first + 1 }
  }
}
