import { expect, test } from 'vitest'
import type { PoolSpec } from '../relay.ts'
import { CounterSlots, sizeOfSlots } from './counter-slots.ts'
import { EndpointSlots } from './endpoint-slots.ts'

const [a, b] = ['10.0.0.1:80', '10.0.0.2:80']

function given() {
  // Nothing touches most of it, so it takes no memory.
  const slots = new EndpointSlots(new CounterSlots(new ArrayBuffer(sizeOfSlots(1)), 1))
  const set = (...names: readonly string[]) => slots.update(pool(names))
  return { slots, set, known: () => [...slots.counts('web').keys()] }
}

test('a slot is free when the engine says that nobody counts there any more, and not before', () => {
  const { slots, set, known } = given()
  const first = set(a)
  const ofA = first.numbers.get(a) ?? -1
  set(b)
  expect(known()).toEqual([b, a])
  slots.left(ofA, first.generation)
  expect(known()).toEqual([b])
  expect(slots.update(pool(['10.0.0.3:80', b])).numbers.get('10.0.0.3:80')).toBe(ofA)
})

test('an endpoint that has come back keeps its slot, whatever the engine says about its former life', () => {
  const { slots, set, known } = given()
  const first = set(a)
  const ofA = first.numbers.get(a) ?? -1
  set(b)
  const back = set(a, b)
  expect(back.numbers.get(a)).toBe(ofA)
  slots.left(ofA, first.generation)
  expect(known()).toEqual([a, b])
  set(b)
  slots.left(ofA, first.generation)
  expect(known()).toEqual([b, a])
  slots.left(ofA, back.generation)
  expect(known()).toEqual([b])
})

test('a pool that is dropped and made again shares no slot with connections of the old one', () => {
  const { slots, set, known } = given()
  const first = set(a)
  slots.drop('web')
  expect(known()).toEqual([])
  const again = set(a)
  expect(again.numbers.get(a)).not.toBe(first.numbers.get(a))
  slots.left(first.numbers.get(a) ?? -1, first.generation)
  expect(known()).toEqual([a])
})

test('after the death of the engine, what is in a pool goes on in its slot, and the rest is free', () => {
  const { slots, set, known } = given()
  const first = set(a, b)
  const left = set(a)
  slots.startOver()
  expect(known()).toEqual([a])
  const again = set(a, '10.0.0.3:80')
  expect(again.numbers.get(a)).toBe(first.numbers.get(a))
  expect(again.numbers.get('10.0.0.3:80')).toBe(first.numbers.get(b))
  // The engine that said so is gone.
  slots.left(again.numbers.get(a) ?? -1, left.generation)
  expect(known()).toEqual([a, '10.0.0.3:80'])
})

function pool(names: readonly string[]): PoolSpec {
  const endpoints = names.map((name) => ({ ip: name.split(':')[0] ?? '', port: 80 }))
  return { id: 'web', service: 'shop/web', endpoints, affinitySeconds: 0, whenEmpty: 'refuse' }
}
