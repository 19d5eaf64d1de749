import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Gate, Gates } from './gate.ts'

test('no second has more dials than the limit, and the limit is reached again after little more than a second', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 300 }),
      (limit, pauses) => {
        const gate = new Gate({ sharedAs: 'web', dialsPerSecond: limit })
        gate.add('a', 0)
        const dialled: number[] = []
        let nowMs = 12_345
        for (const pause of pauses) {
          nowMs += pause
          const isFull = gate.whyFull(nowMs) !== undefined
          const recent = dialled.filter((at) => nowMs - at <= 1_050)
          expect(isFull && recent.length < limit).toBe(false)
          if (isFull) continue
          gate.enter('a', nowMs)
          dialled.push(nowMs)
        }
        for (const [index, at] of dialled.entries())
          expect((dialled[index + limit] ?? Infinity) - at).toBeGreaterThanOrEqual(1_000)
      },
    ),
  )
})

test('an endpoint of two pools has one count, and what it has open comes and goes with the pools', () => {
  const gate = new Gate({ sharedAs: 'web', connections: 3, connectionsPerEndpoint: 2 })
  gate.add('a', 1)
  gate.add('a', 1)
  gate.add('b', 0)
  expect(gate.whyFull(0)).toBeUndefined()
  expect(gate.whyEndpointFull('a', 0)).toBe('max-connections')
  expect(gate.whyEndpointFull('b', 0)).toBeUndefined()
  gate.enter('b', 0)
  expect(gate.whyFull(0)).toBe('max-connections')
  gate.remove('a', 1)
  expect(gate.whyFull(0)).toBeUndefined()
  expect(gate.whyEndpointFull('a', 0)).toBeUndefined()
  gate.leave('b')
  gate.remove('b', 0)
  expect(gate.whyEndpointFull('b', 0)).toBeUndefined()
})

test('pools with the same name have the same gate, as long as one holds it', () => {
  const gates = new Gates()
  const first = gates.acquire({ sharedAs: 'web', connections: 1 })
  expect(gates.acquire({ sharedAs: 'web', connections: 2 })).toBe(first)
  expect(first.limits.connections).toBe(2)
  gates.release(first)
  expect(gates.acquire({ sharedAs: 'web' })).toBe(first)
  gates.release(first)
  gates.release(first)
  expect(gates.acquire({ sharedAs: 'web' })).not.toBe(first)
})
