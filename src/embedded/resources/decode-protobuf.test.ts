import { describe, expect, test } from 'vitest'
import { allResources } from './all-resources.ts'
import { decodeProtobuf } from './decode-protobuf.ts'
import { fieldNumbersBySchema } from './protobuf-field-numbers.ts'
import type { ObjectSchema, Schema } from './schema.ts'
import { nodeSchema } from './schemas/node.ts'
import { serviceSchema } from './schemas/service.ts'

/** Just enough of an encoder to write what a Go client sends. */
function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...varint(Math.floor(value / 0x80))]
}

function number(field: number, value: number): number[] {
  return [...varint(field * 8), ...varint(value)]
}

function bytes(field: number, content: readonly number[] | string): number[] {
  const raw = typeof content === 'string' ? [...new TextEncoder().encode(content)] : content
  return [...varint(field * 8 + 2), ...varint(raw.length), ...raw]
}

function envelope(apiVersion: string, kind: string, message: readonly number[]): Uint8Array {
  const type = [...bytes(1, apiVersion), ...bytes(2, kind)]
  return Uint8Array.from([0x6b, 0x38, 0x73, 0, ...bytes(1, type), ...bytes(2, message)])
}

function objectsIn(schema: Schema, found = new Map<string, ObjectSchema>()): Map<string, ObjectSchema> {
  if (schema.type === 'list') return objectsIn(schema.items, found)
  if (schema.type === 'map') return objectsIn(schema.values, found)
  if (schema.type !== 'object' || found.has(schema.name)) return found
  found.set(schema.name, schema)
  for (const field of Object.values(schema.fields)) objectsIn(field, found)
  return found
}

test('every field of every kind has its number', () => {
  const objects = allResources.flatMap(({ schema }) => [...objectsIn(schema).values()])
  const missing = objects.flatMap(({ name, fields, kind }) =>
    Object.keys(fields)
      .filter((field) => kind === undefined || (field !== 'apiVersion' && field !== 'kind'))
      .filter((field) => fieldNumbersBySchema[name]?.[field] === undefined)
      .map((field) => `${name}.${field}`),
  )
  expect(missing).toEqual([])
})

describe('a protobuf body', () => {
  test('reads as the JSON that the client could have sent', () => {
    const metadata = [
      ...bytes(1, 'web'),
      ...bytes(3, ''),
      ...bytes(8, []),
      ...bytes(11, [...bytes(1, 'app'), ...bytes(2, 'web')]),
      ...bytes(11, [...bytes(1, 'tier'), ...bytes(2, 'front')]),
    ]
    const port = [
      ...bytes(2, 'TCP'),
      ...number(3, 80),
      ...bytes(4, [...number(1, 1), ...bytes(3, 'http')]),
      ...number(5, 0),
    ]
    const other = [...bytes(2, 'UDP'), ...number(3, 53), ...bytes(4, [...number(1, 0), ...number(2, 5353)])]
    const spec = [...bytes(1, port), ...bytes(1, other), ...bytes(4, 'NodePort'), ...number(20, 0)]
    expect(
      decodeProtobuf(envelope('v1', 'Service', [...bytes(1, metadata), ...bytes(2, spec)]), serviceSchema),
    ).toEqual({
      ok: true,
      body: {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'web', labels: { app: 'web', tier: 'front' } },
        spec: {
          allocateLoadBalancerNodePorts: false,
          ports: [
            { protocol: 'TCP', port: 80, targetPort: 'http' },
            { protocol: 'UDP', port: 53, targetPort: 5353 },
          ],
          type: 'NodePort',
        },
      },
    })
  })

  test('holds times and quantities as messages', () => {
    const condition = [...bytes(1, 'Ready'), ...bytes(2, 'True'), ...bytes(4, number(1, 1_767_225_600))]
    const status = [...bytes(1, [...bytes(1, 'cpu'), ...bytes(2, bytes(1, '2'))]), ...bytes(4, condition)]
    expect(decodeProtobuf(envelope('v1', 'Node', bytes(3, status)), nodeSchema)).toMatchObject({
      body: {
        status: {
          capacity: { cpu: '2' },
          conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }],
        },
      },
    })
  })

  test.each<[string, Uint8Array, string]>([
    ['JSON', new TextEncoder().encode('{}'), 'its first four bytes are wrong'],
    ['a cut-off message', envelope('v1', 'Service', bytes(1, 'x')).slice(0, -1), 'ends in the middle of a field'],
    ['a number for an object', envelope('v1', 'Service', number(1, 5)), 'a number where a message should be'],
    [
      'an endless number',
      Uint8Array.from([0x6b, 0x38, 0x73, 0, ...Array.from({ length: 20 }, () => 0xff)]),
      'more than 10 bytes',
    ],
  ])('that is %s is refused', (_, body, message) => {
    expect(decodeProtobuf(body, serviceSchema)).toMatchObject({
      ok: false,
      message: expect.stringContaining(message) as string,
    })
  })
})
