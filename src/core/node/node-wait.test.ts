import { expect, test } from 'vitest'
import type { NodeRecord } from '../../api/records.ts'
import { waitForNode } from './node-wait.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { testNode } from '../testing/nodes.ts'
import { RecordingLogger } from '../testing/recording-logger.ts'

/** A wait whose Node the test sets, and what came of it. */
function given({ isNodeCidrMode = false, node: first }: { isNodeCidrMode?: boolean; node?: NodeRecord } = {}) {
  const clock = new FakeClock()
  const log = new RecordingLogger()
  const abort = new AbortController()
  const state: { node: NodeRecord | undefined; outcome: unknown } = { node: first, outcome: 'waiting' }
  const waiting = waitForNode(
    { nodeName: 'this-node', readNode: () => state.node, isNodeCidrMode, clock, log },
    abort.signal,
  ).then(
    (node) => (state.outcome = node),
    (error: unknown) => (state.outcome = error),
  )
  return { clock, log, state, waiting, abort }
}

test('a Node with an address is taken without waiting', async () => {
  const { clock, state } = given({ node: testNode() })
  await clock.advance(0)
  expect(state.outcome).toBe(state.node)
})

test('a Node that appears later is noticed within a second', async () => {
  const { clock, state, log } = given()
  await clock.advance(5500)
  state.node = testNode()
  await clock.advance(499)
  expect(state.outcome).toBe('waiting')
  await clock.advance(1)
  expect(state.outcome).toBe(state.node)
  expect(log.lines).toEqual([])
})

test('without a Node, or with one that has no address, the start goes on after 30 seconds and says so', async () => {
  for (const [missing, problem] of [
    [undefined, 'there is no such Node'],
    [testNode({ ips: [] }), 'status.addresses has no usable IP'],
  ] as const) {
    const { clock, state, log } = given(missing === undefined ? {} : { node: missing })
    await clock.advance(29_999)
    expect(state.outcome).toBe('waiting')
    await clock.advance(1)
    expect(state.outcome).toBe(missing)
    expect(log.at('error')).toMatchObject([{ fields: { node: 'this-node', problem } }])
  }
})

test('mode NodeCIDR also waits for the pod CIDRs', async () => {
  const { clock, state } = given({ isNodeCidrMode: true, node: testNode() })
  await clock.advance(200_000)
  expect(state.outcome).toBe('waiting')
  state.node = testNode({ podCIDRs: ['10.64.0.0/24'] })
  await clock.advance(1000)
  expect(state.outcome).toBe(state.node)
})

test('mode NodeCIDR gives up after five minutes without pod CIDRs', async () => {
  const { clock, state } = given({ isNodeCidrMode: true, node: testNode() })
  await clock.advance(299_999)
  expect(state.outcome).toBe('waiting')
  await clock.advance(1)
  expect(state.outcome).toMatchObject({
    reason: 'pod-cidr-missing',
    message: expect.stringContaining('timeout waiting for PodCIDR allocation on node "this-node"'),
  })
})

test('mode NodeCIDR gives up five minutes and a half after the start without a Node', async () => {
  const { clock, state } = given({ isNodeCidrMode: true })
  await clock.advance(329_999)
  expect(state.outcome).toBe('waiting')
  await clock.advance(1)
  expect(state.outcome).toMatchObject({
    reason: 'node-missing',
    message: expect.stringContaining('timeout waiting for node "this-node" to exist'),
  })
})

test('mode NodeCIDR goes on with pod CIDRs but without addresses', async () => {
  const { clock, state } = given({ isNodeCidrMode: true, node: testNode({ ips: [], podCIDRs: ['10.64.0.0/24'] }) })
  await clock.advance(30_000)
  expect(state.outcome).toBe(state.node)
})

test('stopping ends the wait', async () => {
  const { clock, waiting, state, abort } = given()
  await clock.advance(1500)
  abort.abort(new Error('stopped'))
  await waiting
  expect(state.outcome).toMatchObject({ message: 'stopped' })
  expect(clock.sleeping).toBe(0)
})
