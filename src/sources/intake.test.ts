import { describe, expect, test } from 'vitest'
import type { LogFields } from '../core/logger.ts'
import { silentLogger } from '../core/logger.ts'
import { Catalog } from '../core/catalog.ts'
import { rawService } from '../core/testing/objects.ts'
import { Intake } from './intake.ts'

function setUp() {
  const catalog = new Catalog()
  const warnings: string[] = []
  const counted: string[] = []
  const warn = (message: string, fields: LogFields = {}) =>
    warnings.push(`${message} ${Object.values(fields).join(' | ')}`)
  const intake = new Intake({
    catalog,
    log: { ...silentLogger, warn },
    metrics: { objectProblem: (kind) => counted.push(kind) },
  })
  const sink = intake.sink('Service')
  const replace = (...objects: unknown[]) => sink.replace(objects.map((object) => sink.read(object)))
  return { catalog, warnings, counted, sink, replace }
}

const good = rawService('demo/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }] })
const half = rawService('demo/half', { clusterIP: '10.96.0.2', ports: [{ port: 80 }, { port: -1 }, { port: 0 }] })
const nameless = { metadata: { namespace: 'demo' }, spec: {} }

describe('a bad object', () => {
  test('does not stop the others, and is reported once with its name, the field and the reason', () => {
    const { catalog, warnings, counted, replace } = setUp()
    replace(nameless, half, good)
    replace(nameless, half, good)
    expect([...catalog.services.keys()]).toEqual(['demo/half', 'demo/web'])
    expect(warnings).toEqual([
      'object is ignored Service missing | metadata.name | must be a name of letters, digits, "-" and ".", not missing',
      'part of an object is ignored Service demo/half | spec.ports[1].port | must be a whole number from 1 to 65535, not -1 | 1',
    ])
    expect(counted).toEqual(['Service', 'Service'])
  })

  test('is reported again when it is wrong in another way, or wrong again after it was good', () => {
    const { warnings, sink } = setUp()
    const bad = rawService('demo/web', { externalIPs: ['x'] })
    sink.read(bad)
    sink.read(rawService('demo/web', { externalIPs: ['y'] }))
    sink.read(good)
    sink.read(bad)
    expect(warnings).toHaveLength(3)
  })

  test('that was good before leaves its last good version in place until it is deleted', () => {
    const { catalog, sink } = setUp()
    const slices = new Intake({ catalog, log: silentLogger, metrics: { objectProblem() {} } }).sink('EndpointSlice')
    const metadata = { namespace: 'demo', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } }
    slices.upsert(slices.read({ metadata, addressType: 'IPv4', endpoints: [{ addresses: ['10.0.0.1'] }] }))
    const broken = slices.read({ metadata: { ...metadata, labels: {} }, addressType: 'IPv4' })
    slices.upsert(broken)
    slices.replace([broken])
    expect(catalog.slices.size).toBe(1)
    slices.remove(broken)
    expect(catalog.slices.size).toBe(0)
    sink.replace([])
  })
})

describe('a list that has begun to arrive', () => {
  test('shows before it is complete, and what is not in it goes', () => {
    const { catalog, sink } = setUp()
    const [web, other] = [sink.read(good), sink.read(half)]
    sink.foresee?.(web)
    sink.foresee?.(other)
    expect([...catalog.services.keys(), catalog.hasListed('Service')]).toEqual(['demo/web', 'demo/half', false])
    sink.replace([web])
    expect([...catalog.services.keys(), catalog.hasListed('Service')]).toEqual(['demo/web', true])
  })

  test('shows nothing before it is complete where there was a complete one', () => {
    const { catalog, sink } = setUp()
    sink.replace([sink.read(good)])
    sink.foresee?.(sink.read(half))
    expect([...catalog.services.keys()]).toEqual(['demo/web'])
  })
})
