import { expect, test } from 'vitest'
import type { NodeRecord } from '../../api/records.ts'
import { nodeReactions } from './node-watch.ts'

const before: NodeRecord = {
  kind: 'Node',
  name: 'this-node',
  ips: ['192.0.2.1'],
  podCIDRs: ['10.64.0.0/24', 'fd00::/64'],
  zone: 'a',
  isBeingDeleted: false,
  taintKeys: [],
}
const nodeCidrMode = { isNodeCidrMode: true }
const otherMode = { isNodeCidrMode: false }

test('changed pod CIDRs end the proxy in mode NodeCIDR, and in other modes they are told', () => {
  const after = { ...before, podCIDRs: ['10.64.1.0/24'] }
  expect(nodeReactions(before, after, nodeCidrMode)).toEqual([
    {
      kind: 'exit',
      message: 'pod CIDRs of the node changed',
      was: ['10.64.0.0/24', 'fd00::/64'],
      is: ['10.64.1.0/24'],
    },
  ])
  expect(nodeReactions(before, after, otherMode)).toEqual([
    { kind: 'pods', was: ['10.64.0.0/24', 'fd00::/64'], is: ['10.64.1.0/24'] },
  ])
})

test('a Node without pod CIDRs has not got them yet', () => {
  expect(nodeReactions(before, { ...before, podCIDRs: [] }, otherMode)).toEqual([])
  expect(nodeReactions({ ...before, podCIDRs: [] }, before, otherMode)).toMatchObject([{ kind: 'pods', was: [] }])
})

test('the order of the pod CIDRs matters', () => {
  const after = { ...before, podCIDRs: before.podCIDRs.toReversed() }
  expect(nodeReactions(before, after, nodeCidrMode)).toMatchObject([{ kind: 'exit' }])
})

test('changed addresses are only logged', () => {
  expect(nodeReactions(before, { ...before, ips: ['192.0.2.2'] }, nodeCidrMode)).toEqual([
    { kind: 'log', message: 'IP addresses of the node changed', was: ['192.0.2.1'], is: ['192.0.2.2'] },
  ])
})

test('a deleted Node is only logged, and the same Node coming back means nothing', () => {
  expect(nodeReactions(before, undefined, nodeCidrMode)).toMatchObject([{ kind: 'log', was: ['192.0.2.1'], is: [] }])
  expect(nodeReactions(before, { ...before }, nodeCidrMode)).toEqual([])
})

test('a zone that is changed, added or removed is a new topology', () => {
  expect(nodeReactions(before, { ...before, zone: 'b' }, otherMode)).toEqual([{ kind: 'topology', zone: 'b' }])
  expect(nodeReactions(before, { ...before, zone: '' }, otherMode)).toEqual([{ kind: 'topology', zone: '' }])
  expect(nodeReactions({ ...before, zone: '' }, before, otherMode)).toEqual([{ kind: 'topology', zone: 'a' }])
})

test('other changes of the Node mean nothing', () => {
  const after = { ...before, taintKeys: ['any'], isBeingDeleted: true }
  expect(nodeReactions(before, after, nodeCidrMode)).toEqual([])
})

test('a Node that appears after the start brings its addresses and zone', () => {
  expect(nodeReactions(undefined, before, otherMode).map(({ kind }) => kind)).toEqual(['log', 'pods', 'topology'])
  expect(nodeReactions(undefined, { ...before, zone: '', ips: [], podCIDRs: [] }, otherMode)).toEqual([])
})
