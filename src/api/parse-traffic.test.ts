import { describe, expect, test } from 'vitest'
import { ProblemList } from './field-checks.ts'
import { parseTraffic } from './parse-traffic.ts'
import { weightIn } from './parse-weights.ts'
import type { ObjectKey } from './records.ts'

function parsed(annotations: Readonly<Record<string, unknown>>) {
  const notes = new ProblemList('Service', 'shop/web' as ObjectKey)
  const named = Object.entries(annotations).map(([name, value]) => [`fairlead.dev/${name}`, value])
  const ports = [80, 30_050].map((port) => ({ name: `p${port}`, protocol: 'TCP', port, nodePort: 0 }) as const)
  const { traffic } = parseTraffic(Object.fromEntries(named), ports, notes)
  return { traffic, problems: notes.problems.map(({ field, reason }) => `${field}: ${reason}`) }
}

describe('annotations', () => {
  test.each([
    [{ algorithm: 'maglev' }, { algorithm: 'maglev' }],
    [{ balancing: 'least-connections' }, { algorithm: 'least-connections' }],
    [{ balancing: 'random', algorithm: 'source-hash' }, { algorithm: 'source-hash' }],
    [
      { 'ipvs-scheduler': 'lblcr', algorithm: 'maglev' },
      { ipvsScheduler: 'lblcr', algorithm: 'maglev' },
    ],
    [{ 'slow-start': '30s' }, { slowStartMs: 30_000 }],
    [{ 'max-connection-age': '1h30m' }, { maxConnectionAgeMs: 5_400_000 }],
    [{ 'max-connections': '100' }, { maxConnections: 100 }],
    [{ 'max-connections-per-endpoint': ' 7 ' }, { maxConnectionsPerEndpoint: 7 }],
    [{ 'max-dials-per-second': '50' }, { maxDialsPerSecond: 50 }],
    [{ 'max-dials-per-second-per-endpoint': '5' }, { maxDialsPerSecondPerEndpoint: 5 }],
    [{ 'health-check': 'tcp' }, { healthCheck: { kind: 'tcp' } }],
    [{ 'health-check': 'http:/ready?full=1' }, { healthCheck: { kind: 'http', path: '/ready?full=1' } }],
    [{ weights: 'zone:a=3' }, { weights: [{ of: 'zone', name: 'a', weight: 3 }] }],
    [{ 'port-range': '30000-30100' }, { portRange: { first: 30_000, last: 30_100 } }],
    [{ 'port-range': '30050 - 65535' }, { portRange: { first: 30_050, last: 65_535 } }],
    [{ other: 'x' }, undefined],
    [{ algorithm: '' }, undefined],
  ])('%j mean %j', (annotations, traffic) => {
    expect(parsed(annotations)).toEqual({ traffic, problems: [] })
  })

  test.each([
    [
      { algorithm: 'fastest' },
      'must be one of random, round-robin, least-connections, source-hash, maglev, not "fastest"',
    ],
    [{ 'ipvs-scheduler': 'fo' }, 'must be one of rr, wrr, lc, wlc, lblc, lblcr, sh, dh, mh, sed, nq, not "fo"'],
    [{ algorithm: 7 }, 'must be a string, not 7'],
    [{ 'slow-start': '30' }, 'must be a time from 1s to a day, such as 30s, 10m or 1h30m, not "30"'],
    [{ 'max-connection-age': '1ms' }, 'must be a time from 1s to 365 days'],
    [{ 'max-connections': '0' }, 'must be a whole number from 1 to 10000000, not "0"'],
    [{ 'max-connections': '99999999' }, 'must be a whole number from 1 to 10000000'],
    [{ 'health-check': 'icmp' }, 'must be tcp, or http: and a path'],
    [{ 'health-check': 'http:/a b' }, 'must be tcp, or http: and a path'],
    [{ 'health-check': 'http:/a\r\nHost: x' }, 'must be tcp, or http: and a path'],
  ])('%j are ignored, with the reason', (annotations, reason) => {
    const { traffic, problems } = parsed(annotations)
    expect(traffic).toBeUndefined()
    expect(problems).toEqual([
      expect.stringContaining(`metadata.annotations[fairlead.dev/${Object.keys(annotations)[0]}]: `),
    ])
    expect(problems[0]).toContain(reason)
  })

  test('one that is wrong takes nothing from the others', () => {
    const { traffic, problems } = parsed({ algorithm: 'fastest', 'max-connections': '5' })
    expect(traffic).toEqual({ maxConnections: 5 })
    expect(problems).toHaveLength(1)
  })
})

describe('weights', () => {
  const rules = parsed({ weights: 'node:old=0, zone:a=3 ,ip:fd00::0001=9, *=2' }).traffic?.weights
  test.each([
    [{ ip: '10.0.0.1', nodeName: 'old', zone: 'a' }, 0],
    [{ ip: '10.0.0.1', nodeName: 'new', zone: 'a' }, 3],
    [{ ip: 'fd00::1', nodeName: 'new', zone: 'b' }, 9],
    [{ ip: '10.0.0.1', nodeName: 'new' }, 2],
  ])('%j has %d: the first rule that fits counts', (endpoint, weight) => {
    expect(weightIn(rules, endpoint)).toBe(weight)
  })
  test('without a rule there is none', () => {
    expect(weightIn(undefined, { ip: '10.0.0.1', nodeName: '' })).toBeUndefined()
    expect(weightIn([], { ip: '10.0.0.1', nodeName: '' })).toBeUndefined()
  })
  test.each([
    ['zone:a', '"zone:a" must be zone:NAME'],
    ['zone:a=x', 'must be zone:NAME'],
    ['zone:a=1001', 'a weight from 0 to 1000'],
    ['pod:a=1', '"pod:a" must be zone:NAME, node:NAME, ip:ADDRESS or *'],
    ['ip:10.0.0=1', '"10.0.0" is not an IP address'],
    [',', 'from 1 to 100 rules'],
    [Array.from({ length: 101 }, () => '*=1').join(','), 'from 1 to 100 rules'],
  ])('%j is ignored as a whole', (weights, reason) => {
    const { traffic, problems } = parsed({ weights })
    expect(traffic).toBeUndefined()
    expect(problems[0]).toContain(reason)
  })
})
