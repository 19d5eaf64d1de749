import { expect, test } from 'vitest'
import type { SpanRecord } from '../../../src/core/trace.ts'
import { stepFor, ticksFor, waterfallRows } from './waterfall.ts'

function span(name: string, startMs: number, durationMs: number, children: readonly SpanRecord[] = []): SpanRecord {
  return { name, context: { traceId: 't', spanId: name }, links: [], startMs, durationMs, attributes: {}, children }
}

const root = span('sync', 1000, 100, [
  span('plan', 1000, 25),
  span('write', 1025, 70, [span('nft', 1030, 50), span('check', 1080, 0)]),
])
const none: ReadonlySet<string> = new Set()

test('lines are in the order of the tree, with bars where they belong', () => {
  expect(waterfallRows(root, none).map(({ id, level, start, length }) => [id, level, start, length])).toEqual([
    ['sync', 1, 0, 1],
    ['plan', 2, 0, 0.25],
    ['write', 2, 0.25, 0.7],
    ['nft', 3, 0.3, 0.5],
    ['check', 3, 0.8, 0.004],
  ])
  expect(waterfallRows(root, none)[2]).toMatchObject({ place: 2, siblings: 2, hasChildren: true, isOpen: true })
})

test('what is closed hides what is below it', () => {
  expect(waterfallRows(root, new Set(['write'])).map(({ id }) => id)).toEqual(['sync', 'plan', 'write'])
})

test('no bar leaves the picture, whatever clocks say', () => {
  const odd = span('sync', 1000, 10, [span('before', 990, 5), span('after', 1020, 50), span('end', 1010, 0)])
  for (const { start, length } of waterfallRows(odd, none)) {
    expect(start).toBeGreaterThanOrEqual(0)
    expect(start + length).toBeLessThanOrEqual(1)
  }
  expect(waterfallRows(span('none', 0, 0), none)).toMatchObject([{ start: 0 }])
})

test.each([
  ['sync', 'ArrowDown', { kind: 'to', id: 'plan' }],
  ['sync', 'ArrowUp', undefined],
  ['plan', 'End', { kind: 'to', id: 'check' }],
  ['check', 'Home', { kind: 'to', id: 'sync' }],
  ['check', 'ArrowDown', undefined],
  ['check', 'ArrowLeft', { kind: 'to', id: 'write' }],
  ['write', 'ArrowLeft', { kind: 'close', id: 'write' }],
  ['write', 'ArrowRight', { kind: 'to', id: 'nft' }],
  ['plan', 'ArrowRight', undefined],
  ['plan', 'a', undefined],
])('on %s, %s does %o', (current, key, expected) => {
  expect(stepFor(waterfallRows(root, none), current, key)).toEqual(expected)
})

test('what is closed opens first', () => {
  expect(stepFor(waterfallRows(root, new Set(['write'])), 'write', 'ArrowRight')).toEqual({ kind: 'open', id: 'write' })
})

test.each([
  [100, [0, 20, 40, 60, 80, 100]],
  [226.6, [0, 50, 100, 150, 200]],
  [0.0123, [0, 0.005, 0.01]],
  [0, [0]],
])('a scale of %d ms has round numbers', (whole, ticks) => {
  expect(ticksFor(whole)).toEqual(ticks)
})
