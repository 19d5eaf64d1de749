import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ApiObject } from '../resource.ts'
import { nodes } from '../resources/node.ts'
import { services } from '../resources/service.ts'
import type { PatchResult } from './apply-patch.ts'
import { applyPatch } from './apply-patch.ts'
import { trackUpdate } from './track-update.ts'

type Fields = Record<string, unknown>

const nowMs = Date.parse('2026-01-01T00:00:00Z')
const later = nowMs + 60_000

function tryApply(
  live: ApiObject | undefined,
  manager: string,
  fields: Fields,
  options: { force?: boolean; nowMs?: number } = {},
): PatchResult {
  const { metadata = {}, ...rest } = fields as { metadata?: Fields }
  return applyPatch({
    contentType: 'application/apply-patch+yaml',
    body: { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'demo', ...metadata }, ...rest },
    current: live,
    resource: services,
    query: { fieldManager: manager, force: options.force ?? false },
    nowMs: options.nowMs ?? nowMs,
  })
}

function apply(live: ApiObject | undefined, manager: string, fields: Fields, force = false): ApiObject {
  const result = tryApply(live, manager, fields, { force })
  if (!result.ok) throw new Error(result.message)
  return result.object
}

function update(old: ApiObject | undefined, next: ApiObject, fieldManager: string): ApiObject {
  return trackUpdate({ old, next, resource: services, fieldManager, nowMs })
}

function ownedBy(object: ApiObject, manager: string): unknown {
  const entries = (object.metadata['managedFields'] ?? []) as { manager: string; fieldsV1: unknown }[]
  return entries.find((entry) => entry.manager === manager)?.fieldsV1
}

const onePort = { spec: { ports: [{ port: 80, targetPort: 8080 }] } }

describe('server-side apply', () => {
  test('creates an object and notes who owns what', () => {
    const object = apply(undefined, 'kubectl', { metadata: { labels: { app: 'web' } }, ...onePort })
    expect(object).toEqual({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'web',
        namespace: 'demo',
        labels: { app: 'web' },
        managedFields: [
          {
            apiVersion: 'v1',
            fieldsType: 'FieldsV1',
            fieldsV1: {
              'f:metadata': { 'f:labels': { 'f:app': {} } },
              'f:spec': {
                'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {}, 'f:targetPort': {} } },
              },
            },
            manager: 'kubectl',
            operation: 'Apply',
            time: '2026-01-01T00:00:00Z',
          },
        ],
      },
      ...onePort,
    })
  })

  test('changes nothing when the same is applied again, not even the time', () => {
    const object = apply(undefined, 'kubectl', onePort)
    expect(tryApply(object, 'kubectl', onePort, { nowMs: later })).toEqual({ ok: true, object })
  })

  test('removes what the manager no longer sends', () => {
    const object = apply(undefined, 'kubectl', { metadata: { labels: { a: '1', b: '2' } }, ...onePort })
    expect(apply(object, 'kubectl', { metadata: { labels: { a: '1' } }, ...onePort }).metadata.labels).toEqual({
      a: '1',
    })
    expect(apply(object, 'kubectl', onePort).metadata).not.toHaveProperty('labels')
  })

  test('keeps what another manager owns too', () => {
    const first = apply(undefined, 'a', { metadata: { labels: { x: '1' } }, ...onePort })
    const both = apply(first, 'b', { metadata: { labels: { x: '1' } } })
    const after = apply(both, 'a', onePort)
    expect(after.metadata.labels).toEqual({ x: '1' })
    expect(ownedBy(after, 'b')).toEqual({ 'f:metadata': { 'f:labels': { 'f:x': {} } } })
  })

  test('lets two managers own different ports of one Service', () => {
    const first = apply(undefined, 'a', { spec: { ports: [{ name: 'http', port: 80 }] } })
    const both = apply(first, 'b', { spec: { ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] } })
    expect((both['spec'] as { ports: { port: number }[] }).ports.map(({ port }) => port)).toEqual([80, 53])
    const after = apply(both, 'a', { spec: { ports: [] } })
    expect(after['spec']).toEqual({ ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] })
  })

  test('keeps values that nobody set, such as defaults', () => {
    const created = apply(undefined, 'a', onePort)
    const defaulted = { ...created, spec: { ...(created['spec'] as Fields), clusterIP: '10.96.0.1' } }
    const after = apply(defaulted, 'a', { spec: { ports: [{ port: 80, targetPort: 9090 }] } })
    expect(after['spec']).toEqual({ clusterIP: '10.96.0.1', ports: [{ port: 80, targetPort: 9090 }] })
  })

  test('refuses to change what another manager set, and says who and what', () => {
    const object = apply(undefined, 'a', { spec: { type: 'NodePort', ports: [{ port: 80, targetPort: 1 }] } })
    const conflicting = { spec: { type: 'ClusterIP', ports: [{ port: 80, targetPort: 2 }] } }
    expect(tryApply(object, 'b', conflicting)).toEqual({
      ok: false,
      code: 409,
      reason: 'Conflict',
      message:
        'Apply failed with 2 conflicts: conflicts with "a":\n' +
        '- .spec.ports[port=80,protocol="TCP"].targetPort\n' +
        '- .spec.type',
      causes: [
        {
          field: '.spec.ports[port=80,protocol="TCP"].targetPort',
          reason: 'FieldManagerConflict',
          message: 'conflict with "a"',
        },
        { field: '.spec.type', reason: 'FieldManagerConflict', message: 'conflict with "a"' },
      ],
    })
  })

  test('takes fields over by force', () => {
    const object = apply(undefined, 'a', { spec: { type: 'NodePort', externalName: 'x' } })
    const taken = apply(object, 'b', { spec: { type: 'ClusterIP' } }, true)
    expect(taken['spec']).toEqual({ type: 'ClusterIP', externalName: 'x' })
    expect(ownedBy(taken, 'a')).toEqual({ 'f:spec': { 'f:externalName': {} } })
    expect(ownedBy(taken, 'b')).toEqual({ 'f:spec': { 'f:type': {} } })
  })

  test('conflicts with an update and names its API version', () => {
    const created = update(undefined, { ...apply(undefined, 'a', {}), spec: { type: 'NodePort' } }, 'kubectl-edit')
    const refused = tryApply(created, 'b', { spec: { type: 'ClusterIP' } })
    expect(!refused.ok && refused.message).toBe(
      'Apply failed with 1 conflict: conflict with "kubectl-edit" using v1: .spec.type',
    )
  })

  test('takes over from client-side apply what its annotation says, and no more', () => {
    const manifest = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, spec: { type: 'NodePort' } }
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(manifest) }
    const metadata = { name: 'web', namespace: 'demo', annotations }
    const created = update(undefined, { ...manifest, metadata, spec: { type: 'NodePort', externalName: 'x' } }, 'csa')
    const changed = { spec: { type: 'ClusterIP' } }
    const taken = apply(created, 'kubectl', changed)
    expect(taken['spec']).toEqual({ type: 'ClusterIP', externalName: 'x' })
    expect(taken.metadata.annotations).toEqual({
      'kubectl.kubernetes.io/last-applied-configuration': `${JSON.stringify({ ...manifest, metadata: { name: 'web', namespace: 'demo' }, ...changed })}\n`,
    })
    expect(tryApply(created, 'other', changed).ok).toBe(false)
    expect(tryApply(created, 'kubectl', { spec: { externalName: 'y' } }).ok).toBe(false)
  })

  test('treats the selector as one value', () => {
    const object = apply(undefined, 'a', { spec: { selector: { app: 'web' } } })
    const after = apply(object, 'a', { spec: { selector: { tier: 'front' } } })
    expect(after['spec']).toEqual({ selector: { tier: 'front' } })
    expect(ownedBy(after, 'a')).toEqual({ 'f:spec': { 'f:selector': {} } })
  })

  test('ignores a status that is sent with the object', () => {
    const object = apply(undefined, 'a', { ...onePort, status: { loadBalancer: {} } })
    expect(JSON.stringify(ownedBy(object, 'a'))).not.toContain('status')
  })

  test('keeps both addresses of a node that share their type', () => {
    const node: ApiObject = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n' },
      status: {
        addresses: [
          { type: 'InternalIP', address: '192.0.2.1' },
          { type: 'InternalIP', address: 'fd00::1' },
        ],
      },
    }
    const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', labels: { a: 'b' } } }
    const contentType = 'application/apply-patch+yaml'
    const result = applyPatch({
      contentType,
      body,
      current: node,
      resource: nodes,
      query: { fieldManager: 'x' },
      nowMs,
    })
    expect(result.ok && result.object['status']).toEqual(node['status'])
  })

  test('reads YAML', () => {
    const body = 'apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: demo}\nspec:\n  type: NodePort\n'
    const query = { fieldManager: 'x' }
    const contentType = 'application/apply-patch+yaml; charset=utf-8'
    const result = applyPatch({ contentType, body, current: undefined, resource: services, query, nowMs })
    expect(result.ok && result.object['spec']).toEqual({ type: 'NodePort' })
  })

  test.each<[string, Fields, { fieldManager?: string }, number, string]>([
    ['no manager', {}, {}, 422, 'fieldManager: Required value: is required for apply patch'],
    ['an unknown field', { spec: { foo: 1 } }, { fieldManager: 'a' }, 400, 'unknown field "spec.foo"'],
    ['a wrong type', { spec: { type: 1 } }, { fieldManager: 'a' }, 400, 'cannot unmarshal'],
    [
      'managed fields of its own',
      { metadata: { managedFields: [{ manager: 'x' }] } },
      { fieldManager: 'a' },
      400,
      'must be nil',
    ],
    ['another kind', { kind: 'Node' }, { fieldManager: 'a' }, 400, 'does not match the expected kind'],
  ])('with %s is refused', (_, fields, query, code, message) => {
    const body = { apiVersion: 'v1', kind: 'Service', ...fields }
    const contentType = 'application/apply-patch+yaml'
    const result = applyPatch({ contentType, body, current: undefined, resource: services, query, nowMs })
    expect(result).toMatchObject({ ok: false, code, message: expect.stringContaining(message) as string })
  })
})

describe('tracking updates', () => {
  test('gives the creator every field it wrote, with the defaults', () => {
    const object: ApiObject = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'demo', labels: { app: 'web' } },
      spec: { ports: [{ port: 80 }], selector: { app: 'web' } },
    }
    expect(ownedBy(update(undefined, object, 'kubectl-create'), 'kubectl-create')).toEqual({
      'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
      'f:spec': {
        'f:internalTrafficPolicy': {},
        'f:ports': {
          '.': {},
          'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {}, 'f:protocol': {}, 'f:targetPort': {} },
        },
        'f:selector': {},
        'f:sessionAffinity': {},
        'f:type': {},
      },
    })
  })

  test('moves a changed field to whoever changed it', () => {
    const applied = apply(undefined, 'a', { spec: { type: 'NodePort', externalName: 'x' } })
    const changed = update(applied, { ...applied, spec: { type: 'ClusterIP', externalName: 'x' } }, 'kubectl-edit')
    expect(ownedBy(changed, 'a')).toEqual({ 'f:spec': { 'f:externalName': {} } })
    expect(ownedBy(changed, 'kubectl-edit')).toMatchObject({ 'f:spec': { 'f:type': {} } })
  })

  test('forgets fields that were removed', () => {
    const applied = apply(undefined, 'a', { metadata: { labels: { x: '1', y: '2' } } })
    const next = { ...applied, metadata: { ...applied.metadata, labels: { x: '1' } } }
    expect(ownedBy(update(applied, next, 'b'), 'a')).toEqual({ 'f:metadata': { 'f:labels': { 'f:x': {} } } })
  })

  test('lets a client rewrite or reset the managers', () => {
    const applied = apply(undefined, 'a', { metadata: { labels: { x: '1' } } })
    const entries = applied.metadata['managedFields'] as Fields[]
    const renamed = entries.map((entry) => ({ ...entry, manager: 'kubectl' }))
    const rewritten = update(applied, { ...applied, metadata: { ...applied.metadata, managedFields: renamed } }, 'b')
    expect(ownedBy(rewritten, 'kubectl')).toEqual(ownedBy(applied, 'a'))
    expect(ownedBy(rewritten, 'a')).toBeUndefined()
    const reset = update(applied, { ...applied, metadata: { ...applied.metadata, managedFields: [{}] } }, 'b')
    expect(ownedBy(reset, 'a')).toBeUndefined()
  })

  test('notes a status write as one of the subresource, and nothing else', () => {
    const applied = apply(undefined, 'a', {})
    const next = {
      ...applied,
      spec: { type: 'NodePort' },
      status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } },
    }
    const tracked = trackUpdate({
      old: applied,
      next,
      resource: services,
      fieldManager: 'lb',
      subresource: 'status',
      nowMs,
    })
    expect(tracked.metadata['managedFields']).toEqual([
      expect.objectContaining({
        manager: 'lb',
        subresource: 'status',
        fieldsV1: { 'f:status': { 'f:loadBalancer': { 'f:ingress': {} } } },
      }),
    ])
  })
})

const label = fc.constantFrom('a', 'b', 'c', 'd')
const config = fc.record(
  {
    labels: fc.dictionary(label, fc.constantFrom('1', '2'), { maxKeys: 3 }),
    ports: fc.uniqueArray(fc.record({ port: fc.integer({ min: 1, max: 4 }), name: fc.constantFrom('x', 'y') }), {
      selector: ({ port }) => port,
      maxLength: 3,
    }),
    type: fc.constantFrom('ClusterIP', 'NodePort'),
  },
  { requiredKeys: [] },
)

function fieldsOf({ labels, ...spec }: { labels?: Record<string, string> }): Fields {
  return { ...(labels === undefined ? {} : { metadata: { labels } }), spec }
}

test('applying any configuration twice changes nothing the second time', () => {
  fc.assert(
    fc.property(config, config, (first, second) => {
      const live = apply(apply(undefined, 'a', fieldsOf(first)), 'b', fieldsOf(second), true)
      const again = apply(live, 'b', fieldsOf(second), true)
      expect(again).toEqual(live)
    }),
  )
})

test('managers of disjoint fields neither conflict nor disturb each other, in either order', () => {
  const mine = fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom('1', '2'), { minKeys: 1 })
  const theirs = fc.dictionary(fc.constantFrom('c', 'd'), fc.constantFrom('1', '2'), { minKeys: 1 })
  fc.assert(
    fc.property(mine, theirs, mine, (first, other, second) => {
      const one = apply(apply(undefined, 'me', fieldsOf({ labels: first })), 'them', fieldsOf({ labels: other }))
      const two = apply(apply(undefined, 'them', fieldsOf({ labels: other })), 'me', fieldsOf({ labels: first }))
      expect(one.metadata.labels).toEqual(two.metadata.labels)
      const after = apply(one, 'me', fieldsOf({ labels: second }))
      expect(after.metadata.labels).toEqual({ ...second, ...other })
      expect(ownedBy(after, 'them')).toEqual(ownedBy(one, 'them'))
    }),
  )
})

test('a manager that applies everything and then nothing leaves nothing behind', () => {
  fc.assert(
    fc.property(config, (everything) => {
      const live = apply(undefined, 'a', fieldsOf(everything))
      const after = apply(live, 'a', { metadata: {} })
      expect(after.metadata).not.toHaveProperty('labels')
      expect(after['spec'] ?? {}).toEqual({})
    }),
  )
})
