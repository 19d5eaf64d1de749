import { expect, test } from 'vitest'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { RecordingLogger } from '../../../core/testing/recording-logger.ts'
import type { NodeRow, NodesChange } from '../wire.ts'
import { Beat } from './beat.ts'
import { NodesTopic } from './nodes-topic.ts'

test('all nodes at first, then those that changed or are gone', async () => {
  const { rows, clock, topic } = nodes()
  rows.push(row('a'), row('b'))
  const viewer = new Reader()
  using _ = topic.follow([], viewer)
  expect(viewer.took()).toEqual([{ isFirst: true, revision: 7, rows: [row('a'), row('b')] }])
  await clock.advance(3_000)
  expect(viewer.took()).toEqual([])
  rows.splice(0, 2, row('b', { revision: 7, lagMs: 300 }), row('c'))
  await clock.advance(1_000)
  expect(viewer.took()).toEqual([{ revision: 7, rows: [row('b', { revision: 7, lagMs: 300 }), row('c')], gone: ['a'] }])
})

test('who reads slowly gets the list again', async () => {
  const { rows, clock, topic } = nodes()
  rows.push(row('a'))
  const [slow, quick] = [new Reader(), new Reader()]
  using _ = topic.follow([], slow)
  using __ = topic.follow([], quick)
  expect([slow.took(), quick.took()].map((all) => all.length)).toEqual([1, 1])
  slow.isBehind = true
  rows.push(row('b'))
  await clock.advance(1_000)
  rows.push(row('c'))
  await clock.advance(1_000)
  expect(quick.took()).toEqual([
    { revision: 7, rows: [row('b')] },
    { revision: 7, rows: [row('c')] },
  ])
  slow.isBehind = false
  await clock.advance(1_000)
  expect(slow.took()).toEqual([{ isFirst: true, revision: 7, rows: [row('a'), row('b'), row('c')] }])
})

test('nobody looks: no timer runs, and no rows are made', async () => {
  const { clock, topic, made } = nodes()
  topic.follow([], new Reader())[Symbol.dispose]()
  const before = made()
  await clock.advance(10_000)
  expect([made() - before, clock.sleeping]).toEqual([0, 0])
})

function nodes() {
  const clock = new FakeClock()
  const rows: NodeRow[] = []
  let calls = 0
  const topic = new NodesTopic({
    beat: new Beat({ clock, log: new RecordingLogger() }),
    revision: () => 7,
    rows: () => (calls++, [...rows]),
  })
  return { clock, rows, topic, made: () => calls }
}

function row(node: string, more: Partial<NodeRow> = {}): NodeRow {
  const [connectedAt, lastContact] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z']
  return { key: node, node, peer: '10.0.0.1', connectedAt, lastContact, revision: 6, isConnected: true, ...more }
}

class Reader {
  isBehind = false
  #messages: NodesChange[] = []

  send(): void {}

  sendText(_event: string, json: string): void {
    this.#messages.push(JSON.parse(json) as NodesChange)
  }

  took(): readonly NodesChange[] {
    return this.#messages.splice(0)
  }
}
