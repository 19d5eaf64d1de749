import { expect, test } from 'vitest'
import { noSpan, noTracer, within } from '../../core/trace.ts'
import type { SpanRecord } from '../../core/trace.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { treeLimits } from './open-tree.ts'
import { RandomIds } from './random-ids.ts'
import { TraceRecorder } from './trace-recorder.ts'

test('a tree is handed over when its root ends, with times, attributes and who is part of what', async () => {
  const { clock, recorder, trees } = given()
  const root = recorder.start('syncProxyRules', { attributes: { full: true, nobody: undefined } })
  await clock.advance(5)
  const plan = root.child('plan', { routes: 3 })
  await clock.advance(10)
  plan.set({ operations: 7 })
  plan.end()
  root.set({ services: 2 })
  expect(trees).toEqual([])
  root.end()
  const [tree] = trees
  expect(tree).toMatchObject({
    name: 'syncProxyRules',
    startMs: start,
    durationMs: 15,
    attributes: { full: true, services: 2 },
    children: [
      { name: 'plan', startMs: start + 5, durationMs: 10, attributes: { routes: 3, operations: 7 }, children: [] },
    ],
  })
  expect(tree?.parentSpanId).toBeUndefined()
  expect(tree?.context.traceId).toMatch(/^[0-9a-f]{32}$/)
  expect(tree?.context.spanId).toMatch(/^[0-9a-f]{16}$/)
  expect(tree?.children[0]).toMatchObject({
    parentSpanId: tree?.context.spanId,
    context: { traceId: tree?.context.traceId },
  })
  expect(tree?.attributes).not.toHaveProperty('nobody')
})

test('a span of another process is the parent, and what caused it is linked', () => {
  const { recorder, trees } = given()
  const parent = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }
  const link = { context: { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16) }, attributes: { event: 'OnServiceAdd' } }
  const later = { context: { traceId: 'e'.repeat(32), spanId: 'f'.repeat(16) } }
  const span = recorder.start('x', { parent, links: [link] })
  span.link(later)
  span.end()
  expect(trees).toMatchObject([
    { context: { traceId: parent.traceId }, parentSpanId: parent.spanId, links: [link, later] },
  ])
})

test('a clock that is set while a tree grows moves no part of it out of the root', async () => {
  const { clock, recorder, trees } = given()
  const root = recorder.start('root')
  clock.jumpWallClock(-3_600_000)
  await clock.advance(1)
  root.child('child').end()
  root.end()
  expect(trees).toMatchObject([{ startMs: start, children: [{ startMs: start + 1 }] }])
})

test('what is still open ends with its parent, and what comes after the end is ignored', async () => {
  const { clock, recorder, trees } = given()
  const root = recorder.start('root')
  const child = root.child('child')
  const grandchild = child.child('grandchild')
  await clock.advance(4)
  child.end()
  await clock.advance(4)
  grandchild.end(new Error('too late'))
  grandchild.set({ late: true })
  expect(child.child('late').context).toBeUndefined()
  root.end()
  root.end(new Error('too late'))
  expect(trees).toHaveLength(1)
  expect(trees[0]).toMatchObject({ durationMs: 8 })
  expect(trees[0]).not.toHaveProperty('error')
  expect(trees[0]?.children[0]).toMatchObject({ durationMs: 4, children: [{ durationMs: 4, attributes: {} }] })
})

test('a failure is the error of its span, with the reason that docs/errors.md lists', async () => {
  const { recorder, trees } = given()
  const root = recorder.start('root')
  const failure = Object.assign(new Error('nft is not there'), { reason: 'tool-missing' })
  await expect(within(root, 'commit', () => Promise.reject(failure))).rejects.toBe(failure)
  root.end()
  expect(trees[0]?.children).toMatchObject([
    { error: 'nft is not there', attributes: { 'error.type': 'tool-missing' } },
  ])
  expect(trees[0]).not.toHaveProperty('error')
})

test('a tree stays small, and says how much it lacks', () => {
  const { recorder, trees } = given()
  const root = recorder.start('syncProxyRules')
  for (let service = 0; service < 50_000; service++) {
    const merge = root.child('mergeService', { service: `demo/s${service}` })
    for (let port = 0; port < 3; port++) merge.child('openPortal').child('openOnePortal').end()
    merge.end()
  }
  root.child('ensurePortals').end()
  root.end()
  const [tree] = trees
  expect(countOf(tree)).toBeLessThanOrEqual(1 + treeLimits.deep + 2 * treeLimits.sameNamed)
  expect(tree?.children.at(-1)?.name).toBe('ensurePortals')
  // Below a span that was dropped nothing is counted.
  const kept = countOf(tree)
  expect(tree?.attributes['spans.dropped']).toBe(50_000 - 100)
  expect(kept).toBe(2 + 100 * (1 + 3 * 2))
})

test('however deep, a tree stays small', () => {
  const { recorder, trees } = given()
  const root = recorder.start('root')
  let span = root
  for (let depth = 0; depth < 5000; depth++) span = span.child('deeper')
  root.end()
  expect(countOf(trees[0])).toBe(2 + treeLimits.deep)
  expect(trees[0]?.attributes['spans.dropped']).toBe(1)
})

test('a tree that somebody else has measured keeps its times and gets ids', () => {
  const { recorder, trees } = given()
  const context = recorder.record({
    name: 'proxyConnection',
    startMs: 1000.5,
    durationMs: 20,
    attributes: { result: 'closed', nobody: undefined },
    children: [{ name: 'dial', startMs: 1001, durationMs: 2, error: new Error('refused') }],
  })
  expect(trees).toMatchObject([
    {
      context,
      startMs: 1000.5,
      durationMs: 20,
      attributes: { result: 'closed' },
      children: [{ name: 'dial', parentSpanId: context.spanId, error: 'refused', durationMs: 2 }],
    },
  ])
})

test('a sink that was added gets every tree until it is removed', () => {
  const { recorder } = given()
  const seen: string[] = []
  const remove = recorder.addSink({ finished: ({ name }) => seen.push(name) })
  recorder.start('one').end()
  remove()
  recorder.start('two').end()
  expect(seen).toEqual(['one'])
})

test('ids differ, and none is zero, whatever the random source gives', () => {
  let calls = 0
  const ids = new RandomIds((pool) => pool.fill(calls++ === 0 ? 0 : calls))
  expect(ids.traceId()).toBe('02'.repeat(16))
  const real = new RandomIds()
  expect(new Set(Array.from({ length: 2000 }, () => real.spanId())).size).toBe(2000)
})

test('a tree that no sink wants is not recorded, and can still be named as a cause', () => {
  const { clock } = given()
  const [syncs, all]: [SpanRecord[], SpanRecord[]] = [[], []]
  const recorder = new TraceRecorder({
    clock,
    sinks: [{ wants: (name) => name === 'syncProxyRules', finished: (root) => syncs.push(root) }],
  })
  const parent = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }
  const event = recorder.start('OnServiceAdd', { parent })
  expect(event).toMatchObject({ isRecorded: false, context: { traceId: parent.traceId } })
  expect(event.child('catalog')).toBe(noSpan)
  event.end()
  const measured = { name: 'proxyConnection', startMs: 0, durationMs: 0 }
  expect(recorder.record(measured)).toMatchObject({
    traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
    spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
  })
  recorder.start('syncProxyRules').end()
  const remove = recorder.addSink({ finished: (root) => all.push(root) })
  const sent = recorder.start('OnServiceAdd')
  expect(sent.isRecorded).toBe(true)
  sent.child('catalog').end()
  sent.end()
  recorder.record(measured)
  remove()
  expect(recorder.start('OnServiceAdd').isRecorded).toBe(false)
  expect(syncs.map(({ name }) => name)).toEqual(['syncProxyRules'])
  expect(all).toMatchObject([{ name: 'OnServiceAdd', children: [{ name: 'catalog' }] }, { name: 'proxyConnection' }])
})

test('spans without parts or links do not share those of others', () => {
  const { recorder, trees } = given()
  const [one, other] = [recorder.start('one'), recorder.start('other')]
  one.child('part').end()
  one.link({ context: { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16) } })
  one.end()
  other.end()
  expect(trees).toMatchObject([
    { children: [{ children: [], links: [] }], links: [{}] },
    { children: [], links: [] },
  ])
})

test('as JSON a tree has all its fields, and the same ids each time', () => {
  const { recorder, trees } = given()
  const event = recorder.start('event', { attributes: { object: 'Service demo/web' } })
  const root = recorder.start('root', { links: [{ context: event.context! }] })
  root.child('part', { routes: 3 }).end()
  root.end(new Error('refused'))
  const [tree] = trees
  const shown = JSON.parse(JSON.stringify(tree)) as SpanRecord
  expect(shown).toEqual({
    name: 'root',
    context: { traceId: tree?.context.traceId, spanId: tree?.context.spanId },
    links: [{ context: { traceId: event.context?.traceId, spanId: event.context?.spanId } }],
    startMs: start,
    durationMs: 0,
    attributes: { 'error.type': 'Error' },
    error: 'refused',
    children: [
      {
        name: 'part',
        context: { traceId: tree?.context.traceId, spanId: tree?.children[0]?.context.spanId },
        parentSpanId: tree?.context.spanId,
        links: [],
        startMs: start,
        durationMs: 0,
        attributes: { routes: 3 },
        children: [],
      },
    ],
  })
  expect(shown.context.traceId).not.toBe(event.context?.traceId)
  expect(JSON.parse(JSON.stringify(tree))).toEqual(shown)
})

test('where nobody records, there is no context', () => {
  expect(noTracer.start('x').child('y').context).toBeUndefined()
  expect(noTracer.record({ name: 'x', startMs: 0, durationMs: 0 })).toBeUndefined()
})

const start = Date.UTC(2026, 0, 1)

function given() {
  const clock = new FakeClock(start)
  const trees: SpanRecord[] = []
  const recorder = new TraceRecorder({ clock, sinks: [{ finished: (root) => trees.push(root) }] })
  return { clock, recorder, trees }
}

function countOf(tree: SpanRecord | undefined): number {
  return tree === undefined ? 0 : 1 + tree.children.reduce((sum, child) => sum + countOf(child), 0)
}
