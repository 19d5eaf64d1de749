import { expect, test } from 'vitest'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import type { Route } from '../../core/route.ts'
import { nodeKernel, proxiedNode } from './testing/proxied-node.ts'

const never = new AbortController().signal

const leaving = testEndpoint('10.64.0.1', 8080)
const staying = testEndpoint('10.64.0.2', 8080)

/** A node whose Service is about to lose an endpoint. */
async function given({
  protocol = 'TCP',
  active = 0,
  inactive = 0,
}: {
  protocol?: Route['protocol']
  active?: number
  inactive?: number
}) {
  const log = new RecordingLogger()
  const node = proxiedNode({ log })
  const route = testRoute('shop/web', { protocol, endpoints: [leaving, staying] })
  const reduced = testRoute('shop/web', { protocol, endpoints: [staying] })
  const server = { ip: route.clusterIP, port: route.port, protocol }
  const { ipvs } = node.kernel
  await node.sync([route], { full: true })
  const connections = (active: number, inactive: number) =>
    ipvs.setConnections(server, leaving.address, active, inactive)
  connections(active, inactive)
  ipvs.operations.length = 0
  const withBoth = () => node.sync([{ ...route }])
  const withoutOne = () => node.sync([{ ...reduced }])
  const weights = async () =>
    Object.fromEntries((await ipvs.realServers(server, never)).map(({ ip, weight }) => [ip, weight]))
  const stop = new AbortController()
  const watching = node.backend.watch(() => {}, stop.signal)
  const end = async () => {
    stop.abort()
    await watching
    expect(node.clock.sleeping).toBe(0)
  }
  return { ...node, ipvs, route, reduced, server, log, connections, withBoth, withoutOne, weights, end }
}

test('a TCP endpoint without connections goes at once, after it has lost its weight', async () => {
  const { withoutOne, weights, ipvs, end } = await given({})
  expect((await withoutOne()).facts['draining']).toBe(0)
  expect(await weights()).toEqual({ [staying.ip]: 1 })
  expect(ipvs.operations.map(({ kind }) => kind)).toEqual(['edit-real-server', 'delete-real-server'])
  await end()
})

for (const counts of [{ active: 1 }, { inactive: 1 }])
  test(`a TCP endpoint with connections (${JSON.stringify(counts)}) stays without weight until they have ended`, async () => {
    const { withoutOne, weights, connections, clock, end } = await given(counts)
    expect((await withoutOne()).facts['draining']).toBe(1)
    await clock.advance(120_000)
    expect(await weights()).toEqual({ [leaving.ip]: 0, [staying.ip]: 1 })
    connections(0, 0)
    await clock.advance(60_000)
    expect(await weights()).toEqual({ [staying.ip]: 1 })
    expect((await withoutOne()).facts['draining']).toBe(0)
    await end()
  })

for (const protocol of ['UDP', 'SCTP'] as const)
  test(`a ${protocol} endpoint goes at once, whatever its connections`, async () => {
    const { withoutOne, weights, ipvs, end } = await given({ protocol, active: 1, inactive: 9 })
    await withoutOne()
    expect(await weights()).toEqual({ [staying.ip]: 1 })
    expect(ipvs.operations.map(({ kind }) => kind)).toEqual(['delete-real-server'])
    await end()
  })

test('an endpoint that is wanted again gets its weight back, and its connections never notice', async () => {
  const { withBoth, withoutOne, weights, ipvs, clock, end } = await given({ active: 1 })
  await withoutOne()
  ipvs.operations.length = 0
  expect((await withBoth()).facts['draining']).toBe(0)
  expect(ipvs.operations).toMatchObject([{ kind: 'edit-real-server', realServer: { weight: 1 } }])
  await clock.advance(60_000)
  expect(await weights()).toEqual({ [leaving.ip]: 1, [staying.ip]: 1 })
  await end()
})

test('an endpoint that is on its way out is not touched again by later syncs', async () => {
  const { withoutOne, ipvs, sync, reduced, end } = await given({ active: 1 })
  await withoutOne()
  ipvs.operations.length = 0
  await sync([{ ...reduced }])
  await sync([{ ...reduced }], { full: true })
  expect(ipvs.operations).toEqual([])
  await end()
})

test('the end of a Service does not wait for connections', async () => {
  const { withoutOne, sync, ipvs, clock, log, end } = await given({ active: 1 })
  await withoutOne()
  expect((await sync([])).facts['draining']).toBe(0)
  expect(await ipvs.list(never)).toEqual([])
  await clock.advance(60_000)
  expect(log.at('warn')).toEqual([])
  await end()
})

test('an endpoint that somebody else deleted is forgotten', async () => {
  const { withoutOne, ipvs, server, clock, end } = await given({ active: 1 })
  await withoutOne()
  await ipvs.apply([{ kind: 'delete-real-server', server, realServer: leaving }], never)
  await clock.advance(60_000)
  expect((await withoutOne()).facts['draining']).toBe(0)
  await end()
})

test('an endpoint that somebody else deleted is added again when it is wanted', async () => {
  const { withBoth, withoutOne, weights, ipvs, server, end } = await given({ active: 1 })
  await withoutOne()
  await ipvs.apply([{ kind: 'delete-real-server', server, realServer: leaving }], never)
  expect((await withBoth()).failed).toEqual([])
  expect(await weights()).toEqual({ [leaving.ip]: 1, [staying.ip]: 1 })
  await end()
})

test('an endpoint whose weight cannot be taken is reported, and tried again', async () => {
  const { withoutOne, weights, ipvs, route, end } = await given({ active: 1 })
  ipvs.refuse = ({ kind }) => (kind === 'edit-real-server' ? 'refused' : undefined)
  const { failed, facts } = await withoutOne()
  expect([failed.map(({ key }) => key), facts['draining']]).toEqual([[route.key], 0])
  ipvs.refuse = () => undefined
  expect((await withoutOne()).facts['draining']).toBe(1)
  expect(await weights()).toEqual({ [leaving.ip]: 0, [staying.ip]: 1 })
  await end()
})

/** The kernel does what it is told, and nobody gets to know. */
async function withoutAnswer({ ipvs }: Pick<Awaited<ReturnType<typeof given>>, 'ipvs'>, sync: () => Promise<unknown>) {
  const apply = ipvs.apply.bind(ipvs)
  ipvs.apply = async (operations, signal) => {
    await apply(operations, signal)
    throw new Error('the test swallows the answer')
  }
  await expect(sync()).rejects.toThrow('swallows')
  ipvs.apply = apply
}

test('an endpoint that lost its weight without an answer gets it back when it is wanted again', async () => {
  const node = await given({ active: 1 })
  await withoutAnswer(node, node.withoutOne)
  expect(await node.weights()).toEqual({ [leaving.ip]: 0, [staying.ip]: 1 })
  await node.withBoth()
  expect(await node.weights()).toEqual({ [leaving.ip]: 1, [staying.ip]: 1 })
  await node.end()
})

test('an endpoint that got its weight back without an answer loses it when it shall go after all', async () => {
  const node = await given({ active: 1 })
  await node.withoutOne()
  await withoutAnswer(node, node.withBoth)
  expect(await node.weights()).toEqual({ [leaving.ip]: 1, [staying.ip]: 1 })
  expect((await node.withoutOne()).facts['draining']).toBe(1)
  expect(await node.weights()).toEqual({ [leaving.ip]: 0, [staying.ip]: 1 })
  await node.end()
})

test('when connections cannot be counted the endpoint stays, and is asked for again', async () => {
  const { withoutOne, weights, ipvs, clock, log, end } = await given({})
  ipvs.failsToCount = true
  await withoutOne()
  expect(await weights().catch(() => 'unknown')).toBe('unknown')
  expect(log.at('warn')).toMatchObject([{ message: 'cannot read the connections of endpoints that are draining' }])
  ipvs.failsToCount = false
  await clock.advance(60_000)
  expect(await weights()).toEqual({ [staying.ip]: 1 })
  await end()
})

test('after a restart an endpoint that was on its way out goes on going', async () => {
  const { withoutOne, kernel, reduced, weights, connections, end } = await given({ active: 1 })
  await withoutOne()
  await end()
  const next = proxiedNode({ kernel })
  expect((await next.sync([reduced], { full: true })).facts['draining']).toBe(1)
  expect(await weights()).toEqual({ [leaving.ip]: 0, [staying.ip]: 1 })
  connections(0, 0)
  await next.sync([{ ...reduced }])
  expect(await weights()).toEqual({ [staying.ip]: 1 })
})

test('stopping ends the watch at once and leaves everything in the kernel', async () => {
  const kernel = nodeKernel()
  const { backend, sync, clock } = proxiedNode({ kernel, looksForDrift: true })
  await sync([testRoute('shop/web', { endpoints: [staying] })], { full: true })
  const before = await kernel.snapshot()
  const stop = new AbortController()
  const watching = backend.watch(() => {}, stop.signal)
  await clock.advance(10_000)
  stop.abort()
  await watching
  await backend[Symbol.asyncDispose]()
  expect(clock.sleeping).toBe(0)
  expect(await kernel.snapshot()).toEqual(before)
})
