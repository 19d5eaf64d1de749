import { describe, expect, test } from 'vitest'
import { ipvsSchedulers } from '../../api/records.ts'
import type { Route } from '../../core/route.ts'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import { serverFlag } from '../../dataplane/ipvs/ipvs.ts'
import { schedulingOf, weighed } from './scheduling.ts'
import { ipvsTraits } from './traits.ts'

const { scheduler1: fallback, scheduler2: port } = serverFlag

function endpointsWith(...weights: readonly number[]) {
  return weights.map((weight, index) => testEndpoint(`10.64.0.${index + 1}`, 8080, { weight }))
}

function route(traffic: Route['traffic'], ...weights: readonly number[]): Route {
  return testRoute('shop/web', { traffic, endpoints: endpointsWith(...weights) })
}

describe('the scheduler', () => {
  test.each([
    ['round-robin', 'rr', 'wrr', 0],
    ['least-connections', 'lc', 'wlc', 0],
    ['source-hash', 'sh', 'sh', fallback],
    ['maglev', 'mh', 'mh', fallback | port],
  ] as const)('for %s is %s, and with weights %s', (algorithm, even, weighted, flags) => {
    expect(schedulingOf(route({ algorithm }, 1, 1), 'nq')).toEqual({ scheduler: even, flags })
    expect(schedulingOf(route({ algorithm }, 5, 5), 'nq')).toEqual({ scheduler: even, flags })
    expect(schedulingOf(route({ algorithm }, 1, 3), 'nq')).toEqual({ scheduler: weighted, flags })
  })

  test('of a Service that asks for none is the usual one, in a form that looks at weights where they differ', () => {
    expect(schedulingOf(route(undefined, 1, 1), 'rr')).toEqual({ scheduler: 'rr', flags: 0 })
    expect(schedulingOf(route(undefined, 1, 3), 'rr')).toEqual({ scheduler: 'wrr', flags: 0 })
    expect(schedulingOf(route(undefined, 1, 3), 'lc')).toEqual({ scheduler: 'wlc', flags: 0 })
    expect(schedulingOf(route(undefined, 1, 3), 'sh')).toEqual({ scheduler: 'sh', flags: 0 })
    expect(schedulingOf(route(undefined, 1), 'mh')).toEqual({ scheduler: 'mh', flags: port })
  })

  test.each(ipvsSchedulers)('%s is taken as it is where a Service names it', (ipvsScheduler) => {
    const { scheduler } = schedulingOf(route({ ipvsScheduler, algorithm: 'least-connections' }, 1, 3), 'rr')
    expect(scheduler).toBe(ipvsScheduler)
  })

  test('does not change while new endpoints start slowly', () => {
    const before = schedulingOf(route({ slowStartMs: 30_000 }, 1, 1), 'rr')
    expect(schedulingOf(route({ slowStartMs: 30_000 }, 10, 10, 3), 'rr')).toEqual(before)
  })

  test('does not change when an endpoint drains', () => {
    const draining = endpointsWith(1, 1, 0)
    const used = {
      endpoints: draining,
      clusterEndpoints: draining.slice(0, 2),
      reachableEndpoints: draining.slice(0, 2),
    }
    expect(schedulingOf(testRoute('shop/web', used), 'rr').scheduler).toBe('rr')
  })
})

describe('the weights for the kernel', () => {
  const weightsOf = (scheduler: string, ...weights: readonly number[]) =>
    weighed(endpointsWith(...weights), scheduler).map(({ weight }) => weight)

  test('are those of the endpoints, and the list is not copied', () => {
    const endpoints = endpointsWith(1, 3, 6)
    expect(weighed(endpoints, 'wrr')).toBe(endpoints)
    expect(weighed([], 'wrr')).toEqual([])
  })
  test('are 1 where all have 0, because somebody must serve', () => {
    expect(weightsOf('wrr', 0, 0)).toEqual([1, 1])
    expect(weightsOf('sh', 0, 0)).toEqual([1, 1])
  })
  test('are places in the table of sh', () => {
    expect(weightsOf('sh', 1, 3, 6)).toEqual([26, 77, 153])
    expect(weightsOf('sh', 1000, 1, 1, 1)).toEqual([253, 1, 1, 1])
    expect(weightsOf('sh', 7, 7)).toEqual([1, 1])
  })
})

describe('an explanation', () => {
  const explained = (traffic: Route['traffic'], ...weights: readonly number[]) =>
    ipvsTraits({ scheduler: 'rr' }).choosing?.(route(traffic, ...weights))

  test('says how the scheduler of the Service chooses, and whether shares are known', () => {
    expect(explained(undefined, 1, 1)).toEqual({ choice: 'each in turn', shares: 'equal' })
    expect(explained(undefined, 1, 3)).toEqual({ choice: 'each in turn, by weight', shares: 'by weight' })
    expect(explained({ ipvsScheduler: 'rr' }, 1, 3)).toEqual({ choice: 'each in turn', shares: 'equal' })
    expect(explained({ algorithm: 'least-connections' }, 1, 3)).toEqual({
      choice: 'the one with the fewest connections, by weight (scheduler wlc)',
      shares: 'not known',
    })
    expect(explained({ algorithm: 'maglev' }, 1)?.choice).toBe('by the address and port of the client (scheduler mh)')
    expect(ipvsTraits({ scheduler: 'ovf' }).choice).toBe('by the scheduler ovf of IPVS')
  })
})
