import { describe, expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { silentLogger } from '../../core/logger.ts'
import type { ChangeSet } from '../client/change-set.ts'
import { ipSet, noIps } from '../model/ip-set.ts'
import { Endpoint, Service, Set as Sets } from '../proto/generated/localv1/api.ts'
import { sampleService } from '../testing/cluster-samples.ts'
import { BackendDriver } from './backend-driver.ts'
import type { KpngBackend, NodeUpdate } from './define-backend.ts'

const noChange: ChangeSet = { isReset: false, sets: [], deletes: [] }

function setService(path: string, changes: Parameters<typeof sampleService>[1] = {}): ChangeSet['sets'][number] {
  const { service } = sampleService(path, changes)
  return { Ref: { Set: Sets.ServicesSet, Path: path }, Bytes: Service.encode(service).finish() }
}

function setEndpoint(path: string, ip: string): ChangeSet['sets'][number] {
  const message = { Hostname: '', IPs: ipSet([ip]), Local: true, PortOverrides: [{ Name: 'http', Port: 8080 }] }
  return { Ref: { Set: Sets.EndpointsSet, Path: path }, Bytes: Endpoint.encode(message).finish() }
}

const deleted = (set: Sets, path: string) => ({ Set: set, Path: path })

function drive(sync: KpngBackend['sync'] = () => {}) {
  const clock = new FakeClock()
  const stop = new AbortController()
  const updates: NodeUpdate[] = []
  const backend: KpngBackend = {
    name: 'test',
    sync: (update, context) => {
      updates.push({ ...update, services: new Map(update.services) })
      return sync(update, context)
    },
  }
  const driver = new BackendDriver(backend, { node: 'node-a', log: silentLogger, signal: stop.signal }, clock)
  return { clock, stop, updates, apply: (changes: Partial<ChangeSet>) => driver.apply({ ...noChange, ...changes }) }
}

test('a backend gets the whole state first, then what changes, set before removed', async () => {
  const { apply, updates } = drive()
  await apply({ isReset: true, sets: [setService('default/web'), setEndpoint('default/web/a', '10.1.0.1')] })
  await apply({
    sets: [setService('default/new'), setEndpoint('default/web/b', '10.1.0.2')],
    deletes: [deleted(Sets.EndpointsSet, 'default/web/a')],
  })
  expect(updates.map(({ isFull }) => isFull)).toEqual([true, false])
  expect(updates[0]?.services.get('default/web')).toMatchObject({
    clusterIPs: ['10.96.0.10'],
    ports: [{ name: 'http', protocol: 'TCP', port: 80, nodePort: 0 }],
    endpoints: [{ id: 'a', ips: ['10.1.0.1'], isLocal: true, servesInternal: true, ports: [8080] }],
  })
  const { changes } = updates[1] ?? {}
  expect(changes?.setServices.map(({ id }) => id)).toEqual(['default/new'])
  expect(changes?.setEndpoints.map(({ endpoint }) => endpoint.id)).toEqual(['b'])
  expect(changes?.removedEndpoints.map(({ endpoint }) => endpoint.id)).toEqual(['a'])
  expect(changes?.removedServices).toEqual([])
})

test('a server that comes back with the same state is no news', async () => {
  const { apply, updates } = drive()
  const sets = [setService('default/web'), setEndpoint('default/web/a', '10.1.0.1')]
  await apply({ isReset: true, sets })
  await apply({ isReset: true, sets })
  expect(updates).toHaveLength(1)
  await apply({ isReset: true, sets: [] })
  expect(updates[1]?.changes.removedServices.map(({ id }) => id)).toEqual(['default/web'])
})

test('an empty state is a state', async () => {
  const { apply, updates } = drive()
  await apply({ isReset: true })
  expect(updates).toHaveLength(1)
})

test('after a failure the backend is called again, after a pause, with everything', async () => {
  let failures = 1
  const { apply, updates, clock } = drive(() => {
    if (updates.length > 1 && failures-- > 0) throw new Error('busy')
  })
  await apply({ isReset: true, sets: [setService('default/web')] })
  const second = apply({ sets: [setService('default/new')] })
  await expect.poll(() => clock.sleeping).toBe(1)
  await clock.advance(1_000)
  await second
  expect(updates.map(({ isFull, services }) => [isFull, services.size])).toEqual([
    [true, 1],
    [false, 2],
    [true, 2],
  ])
  expect(updates[2]?.changes.setServices).toHaveLength(2)
})

describe('the events of a Service', () => {
  const ips = (...clusterIPs: string[]) => ({
    IPs: { ClusterIPs: ipSet(clusterIPs), ExternalIPs: noIps, Headless: false },
  })

  test('a new port replaces the old one; an address that goes goes last', async () => {
    const { apply, updates } = drive()
    await apply({ isReset: true, sets: [setService('default/web', { port: 81, ...ips('10.96.0.1') })] })
    await apply({
      sets: [setService('default/web', { port: 82, ...ips('10.96.0.2'), ExternalTrafficToLocal: true })],
    })
    expect(updates[1]?.events.map(eventLine)).toEqual([
      'port-removed 81',
      'port-added 82',
      'address-added 10.96.0.2',
      'pair-removed 10.96.0.1 81',
      'pair-added 10.96.0.2 82',
      'policy-changed external Local',
      'address-removed 10.96.0.1',
    ])
  })

  test('endpoints come before what leads to them, and go after it', async () => {
    const { apply, updates } = drive()
    const sets = [setService('default/web', ips('10.96.0.1')), setEndpoint('default/web/a', '10.1.0.1')]
    await apply({ isReset: true, sets })
    await apply({
      sets: [setEndpoint('default/web/b', '10.1.0.2'), setEndpoint('default/web/a', '10.1.0.9')],
    })
    await apply({ deletes: [deleted(Sets.EndpointsSet, 'default/web/a')] })
    await apply({
      deletes: [deleted(Sets.EndpointsSet, 'default/web/b'), deleted(Sets.ServicesSet, 'default/web')],
    })
    expect(updates.map(({ events }) => events.map(eventLine))).toEqual([
      ['port-added 80', 'endpoint-added a 10.1.0.1', 'address-added 10.96.0.1', 'pair-added 10.96.0.1 80'],
      ['endpoint-changed a 10.1.0.9 a 10.1.0.1', 'endpoint-added b 10.1.0.2'],
      ['endpoint-removed a 10.1.0.9'],
      ['port-removed 80', 'pair-removed 10.96.0.1 80', 'address-removed 10.96.0.1', 'endpoint-removed b 10.1.0.2'],
    ])
  })

  test('another timeout of the affinity is an event', async () => {
    const sticky = (TimeoutSeconds: number) => ({
      SessionAffinity: { $case: 'ClientIP', value: { TimeoutSeconds } } as const,
    })
    const { apply, updates } = drive()
    await apply({ isReset: true, sets: [setService('default/web', sticky(60))] })
    await apply({ sets: [setService('default/web', sticky(90))] })
    expect(updates[1]?.events.map(eventLine)).toEqual(['affinity-changed 90'])
  })
})

function eventLine(event: NodeUpdate['events'][number]): string {
  const { kind, service: _service, ...facts } = event
  const texts = Object.entries(facts).flatMap(([name, value]) => {
    if (name === 'of') return []
    if (typeof value !== 'object') return [String(value)]
    return 'id' in value ? [value.id, ...value.ips] : [String(value.port)]
  })
  return [kind, ...texts].join(' ')
}
