import { expect, test } from 'vitest'
import type { SpanRecord } from '../../core/trace.ts'
import { historyLimits, SyncHistory } from './sync-history.ts'
import type { SyncsAnswer } from './syncs-page.ts'
import { syncsPage } from './syncs-page.ts'

test('the last syncs and the slowest ones are kept, no more', () => {
  const history = new SyncHistory()
  for (let n = 0; n < 1000; n++) history.finished(sync({ startMs: n, durationMs: (n * 7919) % 1000 }))
  expect(history.last).toHaveLength(200)
  expect(history.last[0]?.startMs).toBe(999)
  expect(history.last.at(-1)?.startMs).toBe(800)
  expect(history.slowest.map(({ durationMs }) => durationMs)).toEqual(Array.from({ length: 50 }, (_, n) => 999 - n))
})

test('other trees are none of its business, but the start is kept', () => {
  const history = new SyncHistory()
  history.finished({ ...sync(), name: 'OnServiceAdd' })
  history.finished({ ...sync(), name: 'createProxier' })
  expect(history.last).toEqual([])
  expect(history.start?.name).toBe('createProxier')
})

test('large trees lose what is below the root, the oldest first', () => {
  const history = new SyncHistory({ last: 4, slowest: 1, spans: 25 })
  for (let n = 0; n < 4; n++) history.finished(sync({ startMs: n, durationMs: n, parts: 9 }))
  expect(history.last.map(({ children }) => children.length)).toEqual([9, 9, 0, 0])
  expect(history.last.at(-1)?.attributes['spans.dropped']).toBe(9)
  // A slow one that has left the list of the last still counts.
  history.finished(sync({ durationMs: 100, parts: 9 }))
  for (let n = 0; n < 4; n++) history.finished(sync({ parts: 9 }))
  expect(history.slowest.map(({ children }) => children.length)).toEqual([0])
  expect(history.last.map(({ children }) => children.length)).toEqual([9, 9, 0, 0])
})

test('at its largest it holds as many spans as it says', () => {
  const history = new SyncHistory()
  for (let n = 0; n < 400; n++) history.finished(sync({ startMs: n, durationMs: n % 90, parts: 999 }))
  const kept = new Set([...history.last, ...history.slowest])
  const spans = [...kept].reduce((sum, { children }) => sum + 1 + children.length, 0)
  expect(spans).toBeLessThanOrEqual(historyLimits.spans)
  expect(history.last[0]?.children).toHaveLength(999)
})

test('the page shows the newest first, with the events that caused each', async () => {
  const history = new SyncHistory()
  history.finished(sync({ startMs: 1000, durationMs: 50 }))
  history.finished(
    sync({ startMs: 2000.25, durationMs: 1.23456, family: 'ipv6', error: 'nft refused', more: 3, receivedMs: 1500 }),
  )
  const { order, syncs } = await ask(history, '')
  expect(order).toBe('newest')
  expect(syncs).toMatchObject([
    {
      startedAt: '1970-01-01T00:00:02.000Z',
      durationMs: 1.235,
      mode: 'nftables',
      family: 'ipv6',
      trigger: 'change',
      error: 'nft refused',
      events: [
        {
          event: 'OnServiceUpdate',
          object: 'Service demo/web',
          resourceVersion: '77',
          receivedAt: '1970-01-01T00:00:01.500Z',
          waitedMs: 500.25,
          traceId: 'e'.repeat(32),
        },
      ],
      moreEvents: 3,
      trace: { name: 'syncProxyRules' },
    },
    { family: 'ipv4', moreEvents: 0 },
  ])
})

test('the page is asked for the slowest, for one family, for a few', async () => {
  const history = new SyncHistory()
  for (let n = 0; n < 30; n++)
    history.finished(sync({ startMs: n, durationMs: 100 - n, family: n % 2 === 0 ? 'ipv4' : 'ipv6' }))
  expect((await ask(history, '')).syncs).toHaveLength(20)
  const slowest = await ask(history, 'slowest&limit=2&family=ipv6')
  expect(slowest.order).toBe('slowest')
  expect(slowest.syncs.map(({ durationMs }) => durationMs)).toEqual([99, 97])
})

test('the page is asked for one sync, also for a slow one that is no longer among the last', async () => {
  const history = new SyncHistory()
  history.finished(sync({ startMs: 1, durationMs: 500, traceId: 'slow' }))
  for (let n = 0; n < 300; n++) history.finished(sync({ startMs: n, durationMs: 1 }))
  expect((await ask(history, 'trace=slow')).syncs).toMatchObject([{ durationMs: 500 }])
  expect(await answerTo(history, 'trace=none')).toMatchObject({ kind: 'refused', status: 404 })
})

test('a question that makes no sense is answered with one that does', async () => {
  const history = new SyncHistory()
  for (const query of ['limit=many', 'limit=0', 'limit=-1', 'family=ipv5'])
    expect(await answerTo(history, query)).toMatchObject({ kind: 'refused', status: 400 })
})

async function ask(history: SyncHistory, query: string): Promise<SyncsAnswer> {
  const answer = await answerTo(history, query)
  if (answer.kind !== 'json') throw new Error(`${query} was answered with ${answer.kind}`)
  return answer.value as SyncsAnswer
}

function answerTo(history: SyncHistory, query: string) {
  return syncsPage(history).answer({ rest: [], query: new URLSearchParams(query) }, AbortSignal.abort())
}

interface Given {
  readonly startMs?: number
  readonly durationMs?: number
  readonly parts?: number
  readonly family?: string
  readonly error?: string
  readonly more?: number
  readonly receivedMs?: number
  readonly traceId?: string
}

function sync(given: Given = {}): SpanRecord {
  const {
    startMs = 0,
    durationMs = 1,
    parts = 0,
    family = 'ipv4',
    error,
    more,
    receivedMs,
    traceId = 'a'.repeat(32),
  } = given
  const context = { traceId, spanId: 'b'.repeat(16) }
  const part: SpanRecord = { name: 'part', context, links: [], startMs, durationMs: 0, attributes: {}, children: [] }
  const event = {
    context: { traceId: 'e'.repeat(32), spanId: 'f'.repeat(16) },
    attributes: {
      event: 'OnServiceUpdate',
      object: 'Service demo/web',
      'k8s.resource_version': '77',
      received_ms: receivedMs,
    },
  }
  return {
    ...part,
    name: 'syncProxyRules',
    durationMs,
    links: receivedMs === undefined ? [] : [event],
    attributes: {
      'proxy.mode': 'nftables',
      'network.type': family,
      trigger: 'change',
      ...(more !== undefined && { 'events.more': more }),
    },
    ...(error !== undefined && { error }),
    children: Array.from({ length: parts }, () => part),
  }
}
