import { expect, test } from 'vitest'
import type { SpanRecord } from '../../../core/trace.ts'
import { RecordingViewer, ShownNode } from './testing/shown-node.ts'

function sync(number: number, more: Partial<SpanRecord> = {}): SpanRecord {
  return {
    name: 'syncProxyRules',
    context: { traceId: `trace-${number}`, spanId: `span-${number}` },
    links: [],
    startMs: number,
    durationMs: 1.5,
    attributes: { 'network.type': 'ipv4', trigger: 'change', 'events.more': 2 },
    children: [],
    ...more,
  }
}

const tracesIn = (viewer: RecordingViewer) => viewer.of('syncs').map(({ syncs }) => syncs.map(({ traceId }) => traceId))

test('the last syncs come first, the newest last, then each new one', async () => {
  const node = new ShownNode()
  node.syncs.unshift(sync(1), sync(0, { error: 'nft failed' }))
  const viewer = new RecordingViewer()
  node.follow('syncs', viewer)
  const short = { startedAt: '1970-01-01T00:00:00.000Z', durationMs: 1.5, family: 'ipv4', trigger: 'change', events: 2 }
  expect(viewer.of('syncs')).toEqual([
    {
      isFirst: true,
      syncs: [
        { ...short, traceId: 'trace-0', error: 'nft failed' },
        { ...short, traceId: 'trace-1', startedAt: '1970-01-01T00:00:00.001Z' },
      ],
    },
  ])
  await node.clock.advance(1_000)
  node.syncs.unshift(sync(2))
  await node.clock.advance(250)
  expect(tracesIn(viewer).slice(1)).toEqual([['trace-2']])
  expect(viewer.of('syncs')[1]).not.toHaveProperty('isFirst')
})

test('without a sync it says so at once, and tells the first one later', async () => {
  const node = new ShownNode()
  const viewer = new RecordingViewer()
  node.follow('syncs', viewer)
  node.syncs.unshift(sync(0))
  await node.clock.advance(250)
  expect(viewer.of('syncs')[0]).toEqual({ isFirst: true, syncs: [] })
  expect(tracesIn(viewer)).toEqual([[], ['trace-0']])
})

test('who missed more than is kept gets the whole list again', async () => {
  const node = new ShownNode()
  node.syncs.unshift(sync(0))
  const viewer = new RecordingViewer()
  node.follow('syncs', viewer)
  viewer.isBehind = true
  await node.clock.advance(500)
  node.syncs.splice(0, 1, sync(2), sync(1))
  viewer.isBehind = false
  await node.clock.advance(250)
  expect(viewer.of('syncs')[1]).toHaveProperty('isFirst', true)
  expect(tracesIn(viewer)[1]).toEqual(['trace-1', 'trace-2'])
})
