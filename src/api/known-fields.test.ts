import { describe, expect, test } from 'vitest'
import { allResources } from '../embedded/resources/all-resources.ts'
import { knownFields, unknownFields } from './known-fields.ts'

describe('the known fields', () => {
  test.each(['Service', 'EndpointSlice', 'Endpoints', 'ServiceCIDR'])('of a %s are those of its schema', (kind) => {
    const type = allResources.find((resource) => resource.kind === kind)
    const named: string[] = []
    // The schema of the embedded API server was compared with that of a real one.
    const walk = (schema: unknown, tree: unknown, path: string): void => {
      const { fields, items, of, schema: inner } = schema as Record<string, unknown>
      if (tree === 'any' || tree === undefined) return
      if (fields !== undefined)
        for (const [name, field] of Object.entries(fields as object)) {
          const known = (tree as Record<string, unknown>)[name]
          if (known === undefined) named.push(`${path}.${name}`)
          walk(field, known, `${path}.${name}`)
        }
      for (const deeper of [items, of, inner]) if (deeper !== undefined) walk(deeper, tree, path)
    }
    walk(type?.schema, knownFields[kind], kind)
    expect(named).toEqual([])
  })
})

test('an unknown field is found however deep it is, with what was most likely meant', () => {
  const found = unknownFields('Service', {
    kind: 'Service',
    metadata: { name: 'a', labels: { anything: 'goes' } },
    spec: { sessionAfinity: 'ClientIP', selector: { app: 'x' }, ports: [{ port: 80 }, { port: 81, prtocol: 'UDP' }] },
    foo: 1,
  })
  expect(found).toEqual([
    { path: ['spec', 'sessionAfinity'], nearest: 'sessionAffinity' },
    { path: ['spec', 'ports', 1, 'prtocol'], nearest: 'protocol' },
    { path: ['foo'], nearest: undefined },
  ])
  expect(unknownFields('Deployment', { foo: 1 })).toEqual([])
})

test('of an endless name only the beginning is compared, so that it costs no time', () => {
  const [field] = unknownFields('Service', { spec: { [`${'x'.repeat(100)}selector`]: {} } })
  expect(field?.nearest).toBeUndefined()
})
