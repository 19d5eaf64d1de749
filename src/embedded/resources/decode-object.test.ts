import { describe, expect, test } from 'vitest'
import { decodeObject } from './decode-object.ts'
import { nodes } from './node.ts'
import { services } from './service.ts'

describe('decoding a body', () => {
  test('drops unknown fields and names them with their path', () => {
    const body = {
      metadata: { name: 'web', colour: 'red' },
      spec: { ports: [{ port: 80, prot: 'TCP' }], foo: 1 },
      x: {},
    }
    expect(decodeObject(body, services)).toEqual({
      ok: true,
      object: { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } },
      unknownFields: [
        'unknown field "metadata.colour"',
        'unknown field "spec.ports[0].prot"',
        'unknown field "spec.foo"',
        'unknown field "x"',
      ],
    })
  })

  test('treats null as absent', () => {
    const body = { metadata: { name: 'web', creationTimestamp: null }, spec: null }
    expect(decodeObject(body, services)).toMatchObject({ object: { metadata: { name: 'web' } }, unknownFields: [] })
  })

  test.each([
    ['a text for a number', { spec: { ports: [{ port: '80' }] } }, 'spec.ports[0].port'],
    ['a fraction', { spec: { ports: [{ port: 1.5 }] } }, 'spec.ports[0].port'],
    ['a number beyond 32 bits', { spec: { ports: [{ port: 2 ** 40 }] } }, 'spec.ports[0].port'],
    ['an object for a list', { spec: { ports: {} } }, 'spec.ports'],
    ['a number for a label', { metadata: { labels: { a: 1 } } }, 'metadata.labels.a'],
    ['a text for a flag', { spec: { publishNotReadyAddresses: 'yes' } }, 'spec.publishNotReadyAddresses'],
    ['a text for a time', { metadata: { deletionTimestamp: 'soon' } }, 'metadata.deletionTimestamp'],
  ])('refuses %s', (_, body, path) => {
    const decoded = decodeObject(body, services)
    expect(!decoded.ok && decoded.message).toContain(`into field ${path} of type`)
  })

  test('refuses an object of another kind', () => {
    expect(decodeObject({ kind: 'Node' }, services)).toEqual({
      ok: false,
      message: 'the kind in the data ("Node") does not match the expected kind ("Service")',
    })
    expect(decodeObject([], services).ok).toBe(false)
  })

  test('writes quantities as text', () => {
    expect(decodeObject({ metadata: {}, status: { capacity: { cpu: 2 } } }, nodes)).toMatchObject({
      object: { status: { capacity: { cpu: '2' } } },
    })
  })

  test('keeps a key named __proto__ from meaning anything', () => {
    const body: unknown = JSON.parse('{"metadata":{"labels":{"__proto__":"x"}}}')
    const decoded = decodeObject(body, services)
    expect(decoded.ok && Object.entries(decoded.object.metadata.labels ?? {})).toEqual([['__proto__', 'x']])
  })
})
