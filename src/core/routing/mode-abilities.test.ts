import { describe, expect, test } from 'vitest'
import { allAbilities, grantedTraffic, refusedTraffic, withRequested } from './mode-abilities.ts'
import type { ModeAbilities } from './mode-abilities.ts'

const poor: ModeAbilities = {
  mode: 'poor',
  algorithms: ['random', 'source-hash'],
  algorithmsWithAffinity: ['random'],
  weights: false,
  limits: ['maxConnections'],
  portRanges: false,
}

const granted = (traffic: object | undefined, affinitySeconds = 0, algorithm?: 'random' | 'source-hash') =>
  grantedTraffic({ affinitySeconds, ...(traffic && { traffic }) }, { abilities: poor, algorithm })

const refused = (traffic: object, affinitySeconds = 0) => refusedTraffic({ affinitySeconds, traffic }, poor)

describe('a mode', () => {
  test('gets the wishes that it can fulfil', () => {
    expect(granted({ algorithm: 'source-hash', maxConnections: 5, maxDialsPerSecond: 7 })).toEqual({
      algorithm: 'source-hash',
      maxConnections: 5,
    })
  })
  test('is not bothered with Services that wish nothing, or nothing possible', () => {
    expect(granted(undefined)).toBeUndefined()
    expect(granted({ algorithm: 'maglev' })).toBeUndefined()
  })
  test('gets the default of the administrator where a Service says nothing possible', () => {
    expect(granted(undefined, 0, 'source-hash')).toEqual({ algorithm: 'source-hash' })
    expect(granted({ algorithm: 'maglev' }, 0, 'source-hash')).toEqual({ algorithm: 'source-hash' })
    expect(granted({ algorithm: 'random' }, 0, 'source-hash')).toEqual({ algorithm: 'random' })
    expect(granted(undefined, 60, 'source-hash')).toBeUndefined()
  })
})

describe('what it cannot do', () => {
  test('is named with the annotation, the mode and what it can do', () => {
    expect(refused({ algorithm: 'maglev' })).toEqual([
      'fairlead.dev/algorithm: maglev is ignored: the poor mode cannot do it; it can do random, source-hash',
    ])
    const weights = [{ of: 'every', name: '', weight: 3 }]
    expect(refused({ weights, maxDialsPerSecond: 1, maxConnections: 1, slowStartMs: 5, healthCheck: {} })).toEqual([
      'fairlead.dev/weights: weights other than 0 are ignored: the poor mode cannot do it',
      'fairlead.dev/max-dials-per-second is ignored: the poor mode cannot do it',
      'fairlead.dev/slow-start is ignored: the poor mode cannot do it',
    ])
  })
  test('is nothing of weights that only drain', () => {
    const weights = [
      { of: 'node', name: 'old', weight: 0 },
      { of: 'every', name: '', weight: 1 },
    ]
    expect(refused({ weights })).toEqual([])
  })
  test('may need a flag, which is named', () => {
    const shy = { ...poor, onRequest: { maxConnectionAgeMs: '--destroy-old-connections' } }
    const aged = { affinitySeconds: 0, traffic: { maxConnectionAgeMs: 5 } }
    expect(refusedTraffic(aged, shy)).toEqual([
      'fairlead.dev/max-connection-age is ignored: the poor mode does it only with --destroy-old-connections',
    ])
    expect(grantedTraffic(aged, { abilities: shy, algorithm: undefined })).toBeUndefined()
    expect(withRequested(shy, [])).toBe(shy)
    const bold = withRequested(shy, ['--destroy-old-connections'])
    expect(refusedTraffic(aged, bold)).toEqual([])
    expect(grantedTraffic(aged, { abilities: bold, algorithm: undefined })).toEqual({ maxConnectionAgeMs: 5 })
  })
  test('may be so only because of affinity', () => {
    expect(refused({ algorithm: 'source-hash' })).toEqual([])
    expect(refused({ algorithm: 'source-hash' }, 60)).toEqual([
      'fairlead.dev/algorithm: source-hash is ignored: the poor mode cannot do it for a Service with client-IP affinity; it can do random',
    ])
  })
  test('is nothing where everything can be done', () => {
    expect(refusedTraffic({ affinitySeconds: 0, traffic: { algorithm: 'maglev', weights: [] } }, allAbilities)).toEqual(
      [],
    )
  })
})
