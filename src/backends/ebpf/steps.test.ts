import { expect, test } from 'vitest'
import { Fills } from './steps.ts'

function filled(...each: readonly (readonly [map: 'slots' | 'services', offset: number, bytes: readonly number[]])[]) {
  const fills = new Fills()
  for (const [map, offset, bytes] of each) {
    const { memory, at } = fills.add(map, offset, bytes.length)
    memory.bytes.set(bytes, at)
  }
  return fills.steps.map((step) => (step.do === 'fill' ? [step.map, step.offset, [...step.bytes]] : []))
}

test('what lies side by side is filled at once, however much it is', () => {
  const bytes = Array.from({ length: 1_000 }, (_, place) => place % 256)
  expect(filled(...bytes.map((byte, place) => ['slots', 16 + place, [byte]] as const))).toEqual([['slots', 16, bytes]])
})

test('maps are filled side by side without being mixed up', () => {
  expect(filled(['slots', 0, [1]], ['services', 1, [2]], ['slots', 1, [3]])).toEqual([
    ['slots', 0, [1, 3]],
    ['services', 1, [2]],
  ])
})

test('what lies apart is filled apart', () => {
  expect(filled(['slots', 8, [1]], ['slots', 10, [2]], ['slots', 9, [3]])).toEqual([
    ['slots', 8, [1]],
    ['slots', 10, [2]],
    ['slots', 9, [3]],
  ])
})

test('what is not written is zero', () => {
  const fills = new Fills()
  for (const offset of [0, 4, 8]) {
    const { memory, at } = fills.add('slots', offset, 4)
    memory.bytes.fill(offset + 1, at, at + 2)
  }
  expect(fills.steps).toMatchObject([{ bytes: Buffer.from([1, 1, 0, 0, 5, 5, 0, 0, 9, 9, 0, 0]) }])
})
