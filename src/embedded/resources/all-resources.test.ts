import { describe, expect, test } from 'vitest'
import type { ApiObject, ResourceType } from '../resource.ts'
import { allResources } from './all-resources.ts'
import { simpleAllocator } from './testing/simple-allocator.ts'

const now = Date.parse('2026-01-01T00:00:10Z')
const dated = { creationTimestamp: '2026-01-01T00:00:00Z' }

function kind(plural: string, group = ''): ResourceType {
  const found = allResources.find((resource) => resource.plural === plural && resource.group === group)
  if (found === undefined) throw new Error(`no resource ${plural} in "${group}"`)
  return found
}

function object(resource: ResourceType, name: string, fields: Record<string, unknown>): ApiObject {
  const { group, version } = resource
  return {
    apiVersion: group === '' ? version : `${group}/${version}`,
    kind: resource.kind,
    metadata: { name, ...(resource.isNamespaced ? { namespace: 'default' } : {}), ...dated },
    ...fields,
  }
}

function create(resource: ResourceType, name: string, fields: Record<string, unknown>): ApiObject {
  const prepared = resource.prepareCreate(object(resource, name, fields), simpleAllocator())
  if (!prepared.ok) throw new Error(JSON.stringify(prepared.errors))
  return prepared.object
}

function refusals(resource: ResourceType, fields: Record<string, unknown>, old?: ApiObject): string[] {
  const given = object(resource, 'one', fields)
  const prepared =
    old === undefined
      ? resource.prepareCreate(given, simpleAllocator())
      : resource.prepareUpdate(given, old, simpleAllocator())
  return prepared.ok ? [] : prepared.errors.map(({ field, message }) => `${field}: ${message}`)
}

test('every row has a cell for each column', () => {
  const counts = allResources.map((resource) => [
    resource.kind,
    resource.cells(object(resource, 'one', { spec: { type: 'ClusterIP' } }), now).length,
  ])
  expect(counts).toEqual(allResources.map(({ kind, columns }) => [kind, columns.length]))
})

describe('a Namespace', () => {
  test('is active and carries its name as a label', () => {
    const namespace = create(kind('namespaces'), 'demo', {})
    expect(namespace).toMatchObject({
      metadata: { labels: { 'kubernetes.io/metadata.name': 'demo' } },
      status: { phase: 'Active' },
    })
    expect(kind('namespaces').cells(namespace, now)).toEqual(['demo', 'Active', '10s'])
  })
})

describe('a Node', () => {
  test('has one range per family, and keeps it', () => {
    const nodes = kind('nodes')
    const node = create(nodes, 'one', { spec: { podCIDR: '10.64.0.0/24' } })
    expect(node).toMatchObject({ spec: { podCIDRs: ['10.64.0.0/24'] } })
    expect(refusals(nodes, { spec: { podCIDR: '10.65.0.0/24' } }, node)).toEqual([
      'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
    ])
  })

  test('reads as kubectl prints it', () => {
    const node = create(kind('nodes'), 'one', {
      spec: { unschedulable: true },
      status: {
        conditions: [{ type: 'Ready', status: 'True' }],
        addresses: [{ type: 'InternalIP', address: '192.0.2.1' }],
        nodeInfo: { kubeletVersion: 'v1.36.0' },
      },
    })
    const labelled = {
      ...node,
      metadata: { ...node.metadata, labels: { 'node-role.kubernetes.io/control-plane': '' } },
    }
    expect(kind('nodes').cells(labelled, now).slice(0, 7)).toEqual([
      'one',
      'Ready,SchedulingDisabled',
      'control-plane',
      '10s',
      'v1.36.0',
      '192.0.2.1',
      '<none>',
    ])
  })

  test('is refused with a taint of unknown effect', () => {
    expect(refusals(kind('nodes'), { spec: { taints: [{ key: 'a', effect: 'Maybe' }] } })).toEqual([
      'spec.taints[0].effect: Unsupported value: "Maybe": supported values: "NoExecute", "NoSchedule", "PreferNoSchedule"',
    ])
  })
})

describe('Endpoints', () => {
  test('list each address with each port', () => {
    const endpoints = create(kind('endpoints'), 'web', {
      subsets: [{ addresses: [{ ip: '10.64.0.1' }, { ip: 'fd00::1' }], ports: [{ port: 80 }] }],
    })
    expect(kind('endpoints').cells(endpoints, now)).toEqual(['web', '10.64.0.1:80,[fd00::1]:80', '10s'])
    expect(endpoints).toMatchObject({ subsets: [{ ports: [{ protocol: 'TCP' }] }] })
  })

  test('are refused without any address', () => {
    expect(refusals(kind('endpoints'), { subsets: [{ ports: [{ port: 80 }] }] })).toEqual([
      'subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`',
    ])
  })
})

describe('a ServiceCIDR', () => {
  test('has at most one range per family, for life', () => {
    const cidrs = kind('servicecidrs', 'networking.k8s.io')
    const created = create(cidrs, 'one', { spec: { cidrs: ['10.96.0.0/16', 'fd00:96::/112'] } })
    expect(cidrs.cells(created, now)).toEqual(['one', '10.96.0.0/16,fd00:96::/112', '10s'])
    expect(refusals(cidrs, { spec: { cidrs: ['10.97.0.0/16'] } }, created)).toEqual([
      'spec.cidrs[0]: Invalid value: "10.97.0.0/16": field is immutable',
    ])
    expect(refusals(cidrs, { spec: { cidrs: ['10.1.0.0/16', '10.2.0.0/16'] } })[0]).toMatch(
      /no more than one IP for each/,
    )
    expect(refusals(cidrs, {})).toEqual(['spec.cidrs: Required value: at least one CIDR required'])
  })
})

describe('an Event', () => {
  const newEvent = {
    eventTime: '2026-01-01T00:00:04.000000Z',
    regarding: { kind: 'Node', name: 'n1' },
    note: 'it started',
    reason: 'Starting',
    action: 'Start',
    type: 'Normal',
    reportingController: 'fairlead',
    reportingInstance: 'fairlead-n1',
  }

  test('reads the same under both APIs', () => {
    const events = kind('events', 'events.k8s.io')
    const created = create(events, 'one', newEvent)
    const stored = events.storedAs?.toStored(created)
    expect(stored).toMatchObject({
      apiVersion: 'v1',
      involvedObject: { kind: 'Node', name: 'n1' },
      message: 'it started',
    })
    expect(stored && events.storedAs?.fromStored(stored)).toEqual(created)
    const cells = ['6s', 'Normal', 'Starting', 'node/n1', '', 'fairlead, fairlead-n1', 'it started', '6s', 1, 'one']
    expect(events.cells(created, now)).toEqual(cells)
    expect(stored && kind('events').cells(stored, now)).toEqual(cells)
  })

  test('lives in the namespace of what it is about', () => {
    const regarding = { kind: 'Service', namespace: 'demo', name: 'web' }
    expect(refusals(kind('events', 'events.k8s.io'), { ...newEvent, regarding })).toEqual([
      'regarding.namespace: Invalid value: "demo": does not match event.namespace',
    ])
  })
})
