import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { serverUnderTest } from '../../../embedded/testing/server-under-test.ts'
import type { ServerUnderTest } from '../../../embedded/testing/server-under-test.ts'
import type { DemoAction, DemoReplica } from '../../../observe/console/wire.ts'
import { KubeClient } from '../../../sources/kube/kube-client.ts'
import { loadObjects } from '../load-objects.ts'
import { startSampleApplication } from '../sample-application.ts'
import type { SampleApplication } from '../sample-application.ts'
import { DemoRefusal } from './demo-refusal.ts'
import { DemoStage } from './demo-stage.ts'
import { slicesPath, servicesPath } from './stage-objects.ts'

let api: ServerUnderTest
let application: SampleApplication
let stage: DemoStage
let client: KubeClient
let ending: AbortController
let running: Promise<void>

beforeEach(async () => {
  api = await serverUnderTest()
  application = await startSampleApplication()
  await loadObjects(api.server.url, application.objects)
  const server = new URL(api.server.url)
  const tls = { ca: undefined, cert: undefined, key: undefined, serverName: undefined, isInsecure: false }
  const endpoint = { server, tls, headers: {}, execCredential: undefined }
  client = new KubeClient({ access: { resolve: async () => endpoint, reject() {} }, version: 'test', qps: -1 })
  stage = new DemoStage({
    client,
    apiServer: api.server,
    servers: application.servers,
    clock: systemClock,
    pace: { noticeMs: 60, drainMs: 60, outliveMs: 20 },
    onChange() {},
  })
  ending = new AbortController()
  running = stage.run(ending.signal)
  await vi.waitUntil(() => namesOf('web').length === 3, { timeout: 20_000, interval: 5 })
})

afterEach(async () => {
  ending.abort()
  await running
  await client[Symbol.asyncDispose]()
  await application[Symbol.asyncDispose]()
  await api[Symbol.asyncDispose]()
})

describe('a button', () => {
  test('stops a server; its endpoint is ready until somebody notices, then it is not', async () => {
    const { address } = replica('web-2')
    await act({ kind: 'stop', replica: 'web-2' })
    await eventually(() => expect(replica('web-2').state).toBe('stopped'))
    await eventually(async () => expect(await conditionsOf('web-2')).toEqual(failed))
    await expect(fetch(`http://${address}`)).rejects.toThrow('fetch failed')
    const [stopped, noticed] = stage.state.story.map(({ text }) => text)
    expect(stopped).toMatch(/^The server of web-2 has stopped\. Nobody has told the proxy/)
    expect(noticed).toMatch(/^web-2 has failed its probe and is marked not ready/)
  })

  test('starts it again, where it was', async () => {
    const { address } = replica('web-2')
    await act({ kind: 'stop', replica: 'web-2' })
    await eventually(async () => expect(await conditionsOf('web-2')).toEqual(failed))
    await act({ kind: 'start', replica: 'web-2' })
    await eventually(async () => expect(await conditionsOf('web-2')).toEqual(well))
    expect(replica('web-2')).toMatchObject({ state: 'running', address })
    expect(await (await fetch(`http://${address}`)).text()).toBe('web-2 answers GET /\n')
  })

  test('drains a replica: it still serves, then it is gone', async () => {
    await act({ kind: 'drain', replica: 'web-2' })
    expect(await conditionsOf('web-2')).toEqual({ ready: false, serving: true, terminating: true })
    expect(application.servers.isRunning('web-2')).toBe(true)
    await eventually(() => expect(namesOf('web')).toEqual(['web-1', 'web-3']))
    await eventually(() => expect(application.servers.isRunning('web-2')).toBe(false))
  })

  test('scales up, also from nothing, and down again', async () => {
    await act({ kind: 'scale', service: 'shop/closed', to: 2 })
    await eventually(() => expect(namesOf('closed')).toEqual(['closed-1', 'closed-2']))
    expect(await (await fetch(`http://${replica('closed-2').address}`)).text()).toMatch(/^closed-2 /)
    await act({ kind: 'scale', service: 'shop/closed', to: 0 })
    await eventually(() => expect(namesOf('closed')).toEqual([]))
    await eventually(() => expect(application.servers.names.filter((name) => name.startsWith('closed'))).toEqual([]))
  })

  test('turns affinity on and off', async () => {
    for (const to of ['on', 'off'] as const) {
      await act({ kind: 'affinity', service: 'shop/web', to })
      await eventually(() => expect(shown('web').hasAffinity).toBe(to === 'on'))
    }
    await act({ kind: 'affinity', service: 'shop/api', to: 'off' })
    await eventually(() => expect(shown('api').hasAffinity).toBe(false))
  })

  test('kills the API server, which then can change nothing, and brings it back', async () => {
    await act({ kind: 'api-server', to: 'off' })
    expect(stage.state.isApiServerUp).toBe(false)
    expect(shown('web').actions.every(({ whyNot }) => whyNot?.includes('API server is away'))).toBe(true)
    await expect(act({ kind: 'stop', replica: 'web-1' })).rejects.toThrow('the API server is away')
    await act({ kind: 'api-server', to: 'on' })
    await act({ kind: 'stop', replica: 'web-1' })
    await eventually(() => expect(replica('web-1').state).toBe('stopped'))
  })

  test.each<[string, DemoAction]>([
    ['a replica that is not there', { kind: 'stop', replica: 'web-9' }],
    ['another Service', { kind: 'affinity', service: 'kube-system/dns', to: 'on' }],
    ['too many replicas', { kind: 'scale', service: 'shop/web', to: 7 }],
    ['half a replica', { kind: 'scale', service: 'shop/web', to: 1.5 }],
    ['fewer than none', { kind: 'scale', service: 'shop/web', to: -1 }],
  ])('for %s is refused', async (_what, action) => {
    await expect(act(action)).rejects.toThrow(DemoRefusal)
  })
})

describe('others who write the same objects', () => {
  const annotate = (path: string, annotations: object) =>
    api.client.patch(path, 'application/merge-patch+json', { metadata: { annotations } })

  test('move the servers and the page as the buttons do', async () => {
    await annotate(`${slicesPath}/api-1`, { 'demo.fairlead.dev/stopped': 'true' })
    await eventually(() => expect(replica('api-1').state).toBe('stopped'))
    expect(replica('api-1').actions.map(({ label }) => label)).toEqual(['Start'])
    await annotate(`${servicesPath}/echo`, { 'demo.fairlead.dev/scale': '3' })
    await eventually(() => expect(namesOf('echo')).toEqual(['echo-1', 'echo-2', 'echo-3']))
  })

  test('cannot ask for too many, and an order that is none is taken away', async () => {
    await annotate(`${servicesPath}/web`, { 'demo.fairlead.dev/scale': '400' })
    await eventually(() => expect(namesOf('web')).toHaveLength(6))
    await annotate(`${servicesPath}/web`, { 'demo.fairlead.dev/scale': 'many' })
    await eventually(async () => expect(await annotationsOf('web')).not.toHaveProperty('demo.fairlead.dev/scale'))
    expect(namesOf('web')).toHaveLength(6)
  })

  test('may delete a replica, and it stays away until they bring it back', async () => {
    const { address } = replica('web-2')
    const slice = application.objects.find(({ object }) => object.metadata.name === 'web-2')
    await api.client.expect(200, 'DELETE', `${slicesPath}/web-2`)
    await eventually(() => expect(application.servers.isRunning('web-2')).toBe(false))
    await api.client.expect(201, 'POST', slicesPath, slice?.object)
    await eventually(() => expect(application.servers.isRunning('web-2')).toBe(true))
    expect(replica('web-2').address).toBe(address)
  })

  test('may mark a replica not ready whose server runs', async () => {
    await api.client.patch(`${slicesPath}/web-2`, 'application/json-patch+json', [
      { op: 'replace', path: '/endpoints/0/conditions/ready', value: false },
    ])
    await eventually(() => expect(replica('web-2').state).toBe('unready'))
    expect(application.servers.isRunning('web-2')).toBe(true)
  })
})

const failed = { ready: false, serving: false, terminating: false }
const well = { ready: true, serving: true, terminating: false }

function eventually(attempt: () => void | Promise<void>): Promise<void> {
  return vi.waitFor(attempt, { timeout: 20_000, interval: 5 })
}

function act(action: DemoAction): Promise<void> {
  return stage.act(action, ending.signal)
}

function shown(service: string) {
  const found = stage.state.services.find(({ key }) => key === `shop/${service}`)
  if (found === undefined) throw new Error(`no ${service}`)
  return found
}

/** None, before the objects are known. */
function namesOf(service: string): readonly string[] {
  const found = stage.state.services.find(({ key }) => key === `shop/${service}`)
  return found?.replicas.map(({ name }) => name) ?? []
}

function replica(name: string): DemoReplica {
  const found = stage.state.services.flatMap(({ replicas }) => replicas).find((one) => one.name === name)
  if (found === undefined) throw new Error(`no ${name}`)
  return found
}

async function conditionsOf(name: string): Promise<object> {
  const { endpoints } = await api.client.expect(200, 'GET', `${slicesPath}/${name}`)
  return (endpoints as [{ conditions: object }])[0].conditions
}

async function annotationsOf(service: string): Promise<object> {
  const { metadata } = await api.client.expect(200, 'GET', `${servicesPath}/${service}`)
  return (metadata as { annotations: object }).annotations
}
