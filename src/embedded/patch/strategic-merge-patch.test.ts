import { describe, expect, test } from 'vitest'
import { nodeSchema } from '../resources/schemas/node.ts'
import { serviceSchema } from '../resources/schemas/service.ts'
import { applyStrategicMergePatch } from './strategic-merge-patch.ts'

const service = {
  metadata: { labels: { app: 'web', tier: 'front' }, finalizers: ['a', 'b'] },
  spec: {
    externalIPs: ['192.0.2.1'],
    ports: [
      { name: 'http', port: 80, targetPort: 8080 },
      { name: 'https', port: 443, targetPort: 8443 },
    ],
  },
}

function patched(patch: unknown): typeof service {
  return applyStrategicMergePatch(service, patch, serviceSchema) as typeof service
}

describe('a strategic merge patch', () => {
  test('merges ports by number and adds new ones', () => {
    expect(
      patched({
        spec: {
          ports: [
            { port: 443, targetPort: 9443 },
            { name: 'dns', port: 53 },
          ],
        },
      }).spec.ports,
    ).toEqual([
      { name: 'http', port: 80, targetPort: 8080 },
      { name: 'https', port: 443, targetPort: 9443 },
      { name: 'dns', port: 53 },
    ])
  })

  test('removes a port by directive', () => {
    expect(patched({ spec: { ports: [{ port: 80, $patch: 'delete' }] } }).spec.ports).toEqual([service.spec.ports[1]])
  })

  test('replaces a merged list by directive', () => {
    expect(patched({ spec: { ports: [{ port: 53 }, { $patch: 'replace' }] } }).spec.ports).toEqual([{ port: 53 }])
  })

  test('puts the items of a list in order', () => {
    const patch = {
      spec: { ports: [{ port: 53 }], '$setElementOrder/ports': [{ port: 53 }, { port: 443 }, { port: 80 }] },
    }
    expect(patched(patch).spec.ports.map(({ port }) => port)).toEqual([53, 443, 80])
  })

  test('replaces lists that have no key', () => {
    expect(patched({ spec: { externalIPs: ['192.0.2.2'] } }).spec.externalIPs).toEqual(['192.0.2.2'])
  })

  test('adds to a set and removes from it', () => {
    const patch = { metadata: { finalizers: ['c', 'b'], '$deleteFromPrimitiveList/finalizers': ['a'] } }
    expect(patched(patch).metadata.finalizers).toEqual(['c', 'b'])
  })

  test('removes fields by null, and whole objects by directive', () => {
    expect(patched({ metadata: { labels: { tier: null } } }).metadata.labels).toEqual({ app: 'web' })
    expect(patched({ metadata: { labels: { $patch: 'delete' } } }).metadata).not.toHaveProperty('labels')
    expect(patched({ metadata: { labels: { $patch: 'replace', a: 'b' } } }).metadata.labels).toEqual({ a: 'b' })
  })

  test('retains only the named keys', () => {
    expect(patched({ metadata: { labels: { $retainKeys: ['app', 'new'], new: 'x' } } }).metadata.labels).toEqual({
      app: 'web',
      new: 'x',
    })
  })

  test('merges conditions and addresses of a node by type', () => {
    const node = { status: { conditions: [{ type: 'Ready', status: 'True', reason: 'a' }], addresses: [] } }
    const patch = {
      status: { conditions: [{ type: 'Ready', status: 'False' }], addresses: [{ type: 'Hostname', address: 'n' }] },
    }
    expect(applyStrategicMergePatch(node, patch, nodeSchema)).toEqual({
      status: {
        conditions: [{ type: 'Ready', status: 'False', reason: 'a' }],
        addresses: [{ type: 'Hostname', address: 'n' }],
      },
    })
  })

  test.each<[string, unknown, string]>([
    ['an item without its key', { spec: { ports: [{ name: 'x' }] } }, 'lacks its merge key "port"'],
    ['an unknown directive', { spec: { $patch: 'explode' } }, 'unknown patch directive "explode"'],
    ['a list for the whole', [], 'must be a JSON object'],
    ['an order that is no list', { spec: { '$setElementOrder/ports': 1 } }, 'must be a list'],
  ])('with %s is refused', (_, patch, message) => {
    expect(() => patched(patch)).toThrow(message)
  })
})
