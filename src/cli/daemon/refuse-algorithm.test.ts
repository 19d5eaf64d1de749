import { expect, test } from 'vitest'
import { iptablesAbilities } from '../../backends/iptables/abilities.ts'
import { refuseAlgorithm } from './refuse-algorithm.ts'

const refusal = (algorithm: '' | 'source-hash' | 'maglev', lacking: object = {}) => {
  const algorithms = 'lacking' in lacking ? (['random'] as const) : iptablesAbilities.algorithms
  try {
    refuseAlgorithm({ algorithm }, { ...iptablesAbilities, algorithms, ...lacking })
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

test('--algorithm is refused where the mode, or this node, cannot do it', () => {
  expect([refusal(''), refusal('source-hash')]).toEqual([undefined, undefined])
  expect(refusal('maglev')).toBe('--algorithm=maglev: the iptables mode cannot do that; it can do random, source-hash')
  expect(refusal('source-hash', { lacking: { 'source-hash': 'something is missing' } })).toBe(
    '--algorithm=source-hash: something is missing; it can do random',
  )
})
