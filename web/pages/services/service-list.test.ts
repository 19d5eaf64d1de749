import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ServiceRow, ServicesChange } from '../../../src/observe/console/wire.ts'
import { sorted } from './order.ts'
import { columns, filters, questionIn } from './question.ts'
import type { Question } from './question.ts'
import { ServiceList } from './service-list.ts'

const all = questionIn(new URLSearchParams())

function row(key: string, more: Partial<ServiceRow> = {}): ServiceRow {
  return {
    key,
    type: 'ClusterIP',
    clusterIPs: ['10.96.0.1'],
    ports: [{ port: 80, protocol: 'TCP' }],
    endpoints: { total: 1, ready: 1, used: 1 },
    ...more,
  }
}

function busy(key: string, connectionRate: number): ServiceRow {
  return row(key, { traffic: { connectionRate } })
}

function listOf(question: Question, ...changes: readonly ServicesChange[]): ServiceList {
  const list = new ServiceList(question)
  for (const change of changes) list.apply(change)
  list.settle({ mayReorder: true })
  return list
}

function keysIn(list: ServiceList): readonly string[] {
  return list.shown.map(({ row: { key } }) => key)
}

test('a list is shown when its end has come', () => {
  const list = listOf(all, { isFirst: true, hasMore: true, rows: [row('b/web')] })
  expect(keysIn(list)).toEqual([])
  expect(list).toMatchObject({ coming: 1, isComplete: false })
  list.apply({ rows: [row('a/web'), row('a/api')] })
  list.settle({ mayReorder: true })
  expect(keysIn(list)).toEqual(['a/api', 'a/web', 'b/web'])
  expect(list).toMatchObject({ coming: 0, isComplete: true, total: 3 })
})

test('after a loss what was known stays until the new list is whole; then what is not in it is gone', () => {
  const list = listOf(all, { isFirst: true, rows: [row('a/old'), row('a/web')] })
  list.apply({ isFirst: true, hasMore: true, rows: [row('a/new')] })
  list.settle({ mayReorder: true })
  expect(keysIn(list)).toEqual(['a/new', 'a/old', 'a/web'])
  list.apply({ rows: [row('a/web')] })
  list.settle({ mayReorder: true })
  expect(keysIn(list)).toEqual(['a/new', 'a/web'])
})

test('a list that was lost before its end counts for nothing', () => {
  const list = listOf(all, { isFirst: true, hasMore: true, rows: [row('a/gone')] })
  list.apply({ isFirst: true, rows: [row('a/web')] })
  list.settle({ mayReorder: true })
  expect(keysIn(list)).toEqual(['a/web'])
  expect(list.namespaces).toEqual([['a', 1]])
})

test('new numbers change a row and nothing else', () => {
  const list = listOf(all, { isFirst: true, rows: [row('a/web', { problem: 'broken' })] })
  list.apply({ rows: [], traffic: { 'a/web': { connectionRate: 7 }, 'a/unknown': { connectionRate: 1 } } })
  expect(list.settle({ mayReorder: true })).toBe(false)
  expect(list.shown[0]?.row).toMatchObject({ problem: 'broken', traffic: { connectionRate: 7 } })
})

test('while the order is held, rows keep their places; new ones find theirs', () => {
  const byRate: Question = { ...all, sort: { column: 'rate', isDescending: true } }
  const list = listOf(byRate, { isFirst: true, rows: [busy('a/one', 30), busy('a/two', 20), busy('a/three', 10)] })
  list.apply({ rows: [busy('a/new', 25)], traffic: { 'a/three': { connectionRate: 99 } } })
  list.settle({ mayReorder: false })
  expect(keysIn(list)).toEqual(['a/one', 'a/new', 'a/two', 'a/three'])
  expect(list.isOrderOld).toBe(true)
  list.settle({ mayReorder: true })
  expect(keysIn(list)).toEqual(['a/three', 'a/one', 'a/new', 'a/two'])
  expect(list.isOrderOld).toBe(false)
})

test('a row that stops to match leaves, held or not', () => {
  const broken: Question = { ...all, filters: ['problem'] }
  const list = listOf(broken, { isFirst: true, rows: [row('a/web', { problem: 'broken' }), row('a/api')] })
  expect(keysIn(list)).toEqual(['a/web'])
  list.apply({ rows: [row('a/web'), row('a/api', { problem: 'broken too' })] })
  expect(list.settle({ mayReorder: false })).toBe(true)
  expect(keysIn(list)).toEqual(['a/api'])
  expect(list.count('problem')).toBe(1)
})

test('a Service is found by what it has now, not by what it had', () => {
  const list = listOf({ ...all, text: '10.96.7.7' }, { isFirst: true, rows: [row('a/web')] })
  expect(keysIn(list)).toEqual([])
  list.apply({ rows: [row('a/web', { clusterIPs: ['10.96.7.7'] })] })
  list.settle({ mayReorder: false })
  expect(keysIn(list)).toEqual(['a/web'])
})

test('namespaces are known with their Services', () => {
  const list = listOf(all, { isFirst: true, rows: [row('b/web'), row('a/web'), row('b/api')] })
  list.apply({ rows: [], gone: ['a/web'] })
  expect(list.namespaces).toEqual([['b', 2]])
})

const someRow = fc.record({
  key: fc.constantFrom('a/web', 'a/api', 'b/web', 'b/mail', 'c/x'),
  type: fc.constantFrom('ClusterIP', 'NodePort'),
  clusterIPs: fc.constantFrom(['10.0.0.1'], ['10.0.0.20'], ['fd00::1'], []),
  ports: fc.constantFrom([{ port: 80, protocol: 'TCP' }], [{ port: 53, protocol: 'UDP', nodePort: 30053 }]),
  endpoints: fc.constantFrom({ total: 0, ready: 0, used: 0 }, { total: 2, ready: 2, used: 2 }),
  traffic: fc.record({ connectionRate: fc.nat(3), byteRate: fc.nat(3) }),
})
const someQuestion = fc.record({
  text: fc.constantFrom('', 'w', 'we', 'web', 'a/ web', '10.0', ':53/'),
  filters: fc.subarray([...filters]),
  namespace: fc.constantFrom('', 'a', 'b'),
  sort: fc.record({ column: fc.constantFrom(...columns), isDescending: fc.boolean() }),
})
const someStep = fc.oneof(
  fc.record({ rows: fc.array(someRow), gone: fc.subarray(['a/web', 'b/web', 'c/x']) }),
  someQuestion,
  fc.boolean(),
)

test('whatever happened on the way, the answer is that of a list made anew', () => {
  fc.assert(
    fc.property(fc.array(someStep), (steps) => {
      let question = all
      const list = listOf(question, { isFirst: true, rows: [] })
      const known = new Map<string, ServiceRow>()
      for (const step of steps)
        if (typeof step === 'boolean') list.settle({ mayReorder: step })
        else if ('text' in step) list.ask((question = step))
        else {
          list.apply(step)
          for (const one of step.rows) known.set(one.key, one)
          for (const key of step.gone) known.delete(key)
        }
      list.settle({ mayReorder: true })
      const anew = listOf(question, { isFirst: true, rows: [...known.values()] })
      expect(keysIn(list)).toEqual(keysIn(anew))
      expect(filters.map((filter) => list.count(filter))).toEqual(filters.map((filter) => anew.count(filter)))
    }),
  )
})

test('addresses stand as numbers do', () => {
  const ips = ['10.0.0.10', 'fd00::a', '9.0.0.1', '10.0.0.9', 'fd00::10', 'None', 'fd00:0:1::']
  const entries = ips.map((ip) => ({ row: row('a/x', { clusterIPs: [ip] }), namespace: 'a', name: 'x' }))
  const inOrder = sorted(entries, { column: 'ip', isDescending: false }).map(({ row: { clusterIPs } }) => clusterIPs[0])
  expect(inOrder).toEqual(['9.0.0.1', '10.0.0.9', '10.0.0.10', 'fd00::a', 'fd00::10', 'fd00:0:1::', 'None'])
})
