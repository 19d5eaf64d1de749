import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import type { ProxyEvent } from './event-object.ts'
import { EventRecorder } from './event-recorder.ts'
import { loadKubeAccess } from './access/kube-access.ts'
import { KubeClient } from './kube-client.ts'
import { eventually } from './testing/eventually.ts'
import { FaultServer } from './testing/fault-server.ts'
import { RecordingLogger } from './testing/recording-logger.ts'

const starting: ProxyEvent = {
  regarding: { apiVersion: 'v1', kind: 'Node', name: 'node-1' },
  type: 'Normal',
  reason: 'Starting',
  action: 'StartKubeProxy',
  note: '',
}

class RecorderRig implements AsyncDisposable {
  readonly clock = new FakeClock(Date.UTC(2026, 0, 1))
  readonly log = new RecordingLogger()
  readonly server: FaultServer
  readonly recorder: EventRecorder
  readonly #client: KubeClient
  readonly #stop = new AbortController()
  #running: Promise<void> = Promise.resolve()

  private constructor(server: FaultServer, access: Awaited<ReturnType<typeof loadKubeAccess>>) {
    const { clock, log } = this
    this.server = server.otherwise((exchange) => exchange.json(201, {}))
    this.#client = new KubeClient({ access, version: '1', qps: -1, clock })
    this.recorder = new EventRecorder({ client: this.#client, hostname: 'host-1', clock, log })
  }

  static async make(): Promise<RecorderRig> {
    const server = await FaultServer.start()
    return new RecorderRig(server, await loadKubeAccess({ master: server.url }))
  }

  run(): this {
    this.#running = this.recorder.run(this.#stop.signal)
    return this
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  /** The bodies received so far, once there are this many. */
  async bodies(count: number): Promise<readonly unknown[]> {
    await eventually(
      `${count} requests; there are ${this.server.received.length}`,
      () => this.server.received.length >= count,
    )
    // The recorder must also have read the answer before time may pass.
    await eventually('the answer to be read', () => this.clock.sleeping <= 1)
    return this.server.received.map((request) => JSON.parse(request.body) as unknown)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    await this.#client[Symbol.asyncDispose]()
    await this.server[Symbol.asyncDispose]()
  }
}

test('an event about a Node is posted into the namespace default', async () => {
  await using rig = await RecorderRig.make()
  rig.run().recorder.record(starting)
  expect(await rig.bodies(1)).toEqual([
    {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: `node-1.${(1767225600000n * 1_000_000n).toString(16)}`, namespace: 'default' },
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'fairlead',
      reportingInstance: 'fairlead-host-1',
      regarding: { apiVersion: 'v1', kind: 'Node', name: 'node-1' },
      type: 'Normal',
      reason: 'Starting',
      action: 'StartKubeProxy',
      note: '',
    },
  ])
  expect(rig.server.received[0]).toMatchObject({
    method: 'POST',
    url: { pathname: '/apis/events.k8s.io/v1/namespaces/default/events' },
  })
})

test('an event about a Service is posted into its namespace, and a long note is cut to what the server takes', async () => {
  await using rig = await RecorderRig.make()
  const regarding = { apiVersion: 'v1', kind: 'Service', namespace: 'demo', name: 'web' }
  rig.run().recorder.record({ ...starting, regarding, note: '日本'.repeat(1000) })
  const [body] = (await rig.bodies(1)) as [{ note: string; metadata: { namespace: string } }]
  expect(body.metadata.namespace).toBe('demo')
  expect(Buffer.byteLength(body.note)).toBeLessThanOrEqual(1024)
  expect(body.note).toMatch(/^(日本)+日?…$/)
})

test('repetitions become a series: one PATCH a minute, however many there are', async () => {
  await using rig = await RecorderRig.make()
  rig.run().recorder.record(starting)
  await rig.bodies(1)
  for (let i = 0; i < 50; i++) rig.recorder.record({ ...starting, note: `again ${i}` })
  await rig.clock.advance(59_999)
  expect(rig.server.received).toHaveLength(1)
  await rig.clock.advance(1)
  const bodies = await rig.bodies(2)
  expect(bodies[1]).toEqual({ series: { count: 51, lastObservedTime: '2026-01-01T00:00:00.000000Z' } })
  expect(rig.server.received[1]).toMatchObject({
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  expect(rig.server.received[1]?.url.pathname).toMatch(/\/events\/node-1\.[0-9a-f]+$/)
})

test('a repetition after six quiet minutes is a new event', async () => {
  await using rig = await RecorderRig.make()
  rig.run().recorder.record(starting)
  await rig.bodies(1)
  await rig.clock.advance(6 * 60_000)
  rig.recorder.record(starting)
  await rig.bodies(2)
  expect(rig.server.received.map((request) => request.method)).toEqual(['POST', 'POST'])
})

test('a series whose event the server has forgotten begins anew', async () => {
  await using rig = await RecorderRig.make()
  rig.run().recorder.record(starting)
  await rig.bodies(1)
  rig.server.script((exchange) => exchange.status(404, 'NotFound'))
  rig.recorder.record(starting)
  await rig.clock.advance(60_000)
  await rig.bodies(3)
  expect(rig.server.received.map((request) => request.method)).toEqual(['POST', 'PATCH', 'POST'])
})

test('events recorded before the sending starts, and those still waiting at the end, are sent', async () => {
  await using rig = await RecorderRig.make()
  rig.recorder.record(starting)
  rig.run()
  await rig.bodies(1)
  rig.server.otherwise((exchange) => exchange.json(201, {}))
  rig.recorder.record({ ...starting, type: 'Warning', reason: 'FailedToStartMetricServer', note: 'port taken' })
  rig.recorder.record(starting)
  await rig.stop()
  expect(rig.server.received.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'POST'])
  expect(rig.log.messages('warn')).toEqual([])
})

test('the end waits for a silent server for five seconds only', async () => {
  await using rig = await RecorderRig.make()
  rig.server.otherwise(() => {})
  rig.run().recorder.record(starting)
  const ended = rig.stop()
  await eventually('a last try', () => rig.server.received.length > 0)
  await rig.clock.advance(5_000)
  await ended
  expect(rig.log.messages('warn')).toEqual(['events were not sent before the process ended'])
})

test('a server in trouble is tried again every ten seconds, twelve times', async () => {
  await using rig = await RecorderRig.make()
  rig.server.otherwise((exchange) => exchange.status(500, 'InternalError'))
  rig.run().recorder.record(starting)
  for (let tries = 1; tries <= 12; tries++) {
    await rig.bodies(tries)
    await rig.clock.advance(10_000)
  }
  await eventually('the event to be given up', () => rig.log.messages('warn').length === 1)
  expect(rig.server.received).toHaveLength(12)
  expect(rig.log.messages('warn')).toEqual(['event not posted'])
})

test('an event that RBAC forbids is not tried again', async () => {
  await using rig = await RecorderRig.make()
  rig.server.otherwise((exchange) => exchange.status(403, 'Forbidden'))
  rig.run().recorder.record(starting)
  await eventually('the event to be given up', () => rig.log.messages('warn').length === 1)
  await rig.clock.advance(60_000)
  expect(rig.server.received).toHaveLength(1)
})

test.skipIf(process.platform === 'win32')(
  'a flood of different events is bounded (not on Windows: a thousand requests take long under Wine)',
  async () => {
    await using rig = await RecorderRig.make()
    for (let i = 0; i < 1_500; i++) rig.recorder.record({ ...starting, reason: `Reason${i}` })
    expect(rig.log.messages('warn')).toHaveLength(500)
    rig.run()
    await eventually('the rest to be sent', () => rig.server.received.length === 1_000)
  },
)

test('what every node says in the same words is kept once: the second node is told that it is there, and rests', async () => {
  await using first = await RecorderRig.make()
  await using second = await RecorderRig.make()
  const shared: ProxyEvent = {
    regarding: { apiVersion: 'v1', kind: 'Service', namespace: 'shop', name: 'web' },
    type: 'Warning',
    reason: 'AddressInUse',
    action: 'Program',
    note: 'external IP 10.96.0.1:443/TCP is not served',
    isSameOnEveryNode: true,
  }
  await second.clock.advance(12_345)
  second.server.otherwise((exchange) => exchange.status(409, 'AlreadyExists'))
  for (const rig of [first, second]) rig.run().recorder.record(shared)
  const names = await Promise.all(
    [first, second].map(async (rig) => {
      const [body] = (await rig.bodies(1)) as readonly { readonly metadata: { readonly name: string } }[]
      return body?.metadata.name
    }),
  )
  expect(names[0]).toMatch(/^web\.[0-9a-f]{16}$/)
  expect(names[1]).toBe(names[0])
  await second.clock.advance(600_000)
  expect(await second.bodies(1)).toHaveLength(1)
  expect(second.log.lines).toEqual([])

  first.recorder.record({ ...shared, reason: 'NodeAddress', note: 'something else' })
  const other = (await first.bodies(2))[1] as { readonly metadata: { readonly name: string } }
  expect(other.metadata.name).not.toBe(names[0])
})
