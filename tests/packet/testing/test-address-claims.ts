/** Tests of who gets an address, and of who may use it, for any mode of Fairlead. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { families } from '../../../src/net/ip.ts'
import type { Family } from '../../../src/net/ip.ts'
import { plans } from './address-plan.ts'
import type { AddressPlan } from './address-plan.ts'
import { compareFlow } from './observe.ts'
import type { Proxy } from './proxy.ts'
import { Rig } from './rig.ts'
import { at, dropped } from './row.ts'
import type { Source } from './row.ts'
import { givenService } from './service-fixture.ts'
import type { ServiceFixture } from './service-fixture.ts'
import { whoAnswers } from './tally.ts'

/** Its name sorts last, so that nobody has it for the name's sake. */
const owner = givenService('zz-owner', 60, { endpoints: ['here-1'] })
const ofOwner = (plan: AddressPlan) => [plan.clusterIP(owner.index)]
const external = givenService('aa-external', 61, { takesAsExternalIPs: ofOwner, endpoints: ['there-1'] })
const balanced = givenService('ab-balanced', 62, {
  type: 'LoadBalancer',
  takesAsVips: ofOwner,
  endpoints: ['there-1'],
})
const unreadable = givenService('unreadable', 63, {
  type: 'LoadBalancer',
  sourceRanges: ['203.0.113/25'],
  endpoints: ['here-2'],
})
const onlyV6 = givenService('only-v6', 64, {
  type: 'LoadBalancer',
  sourceRanges: [plans.ipv6.clientRange],
  endpoints: ['here-2'],
})

const soon = { timeout: 60_000, interval: 100 }

const everywhere: readonly Source[] = ['caller', 'node', 'outside']

export function testAddressClaims(proxy: Proxy): void {
  let rig: Rig
  beforeAll(async () => {
    rig = await Rig.start(proxy, { strictSourceRanges: true }, [owner])
  })
  afterAll(() => rig?.[Symbol.asyncDispose]())

  /** Whoever answers at the cluster IP, from all places and in both families. */
  const answersAt = async (service: ServiceFixture): Promise<readonly string[]> => {
    const flows = everywhere.flatMap((from) => families.map((family) => ({ from, family })))
    const answers = await Promise.all(
      // Endpoints may take turns.
      [1, 2, 3].flatMap(() =>
        flows.map(({ from, family }) => whoAnswers(rig, from, at('cluster IP', service), family)),
      ),
    )
    return [...new Set(answers)]
  }
  const owned = ['here-1:8080']

  test('nobody takes a cluster IP by naming it later', async () => {
    expect(await answersAt(owner)).toEqual(owned)
    await rig.program([owner, external, balanced])
    expect(await answersAt(owner)).toEqual(owned)
    // They keep what is their own.
    expect(await answersAt(external)).toEqual(['there-1:8080'])
    expect(await answersAt(balanced)).toEqual(['there-1:8080'])
  })

  test('nor by changing what already names it', async () => {
    await rig.program([owner, { ...external, endpoints: ['there-2'] }, { ...balanced, endpoints: ['there-2'] }])
    expect(await answersAt(external)).toEqual(['there-2:8080'])
    expect(await answersAt(owner)).toEqual(owned)
  })

  test('nor by naming it first', async () => {
    await rig.program([external, balanced])
    await rig.program([external, balanced, owner])
    expect(await answersAt(owner)).toEqual(owned)
  })

  test('it is said in the log, with both Services', () => {
    for (const { name } of [external, balanced])
      expect(rig.proxy.log()).toMatch(new RegExp(`Service needs attention.*shop/${name}.*shop/zz-owner`))
  })

  test('source ranges that cannot be read, or that leave a family out, close the load balancer', async () => {
    await rig.program([unreadable, onlyV6])
    const isClosed = async (service: ServiceFixture, family: Family) => {
      const flow = { from: 'outside', to: at('VIP', service), family, expectation: dropped } as const
      const { observed, expected } = await compareFlow(rig, flow)
      return observed === expected
    }
    // In ipvs mode virtual servers answer before the rules are there that filter.
    for (const family of families) await expect.poll(() => isClosed(unreadable, family), soon).toBe(true)
    await expect.poll(() => isClosed(onlyV6, 'ipv4'), soon).toBe(true)
    expect(await whoAnswers(rig, 'outside', at('VIP', onlyV6), 'ipv6')).toBe('here-2:8080')
    // The rest of the Service is open.
    expect(await answersAt(unreadable)).toEqual(['here-2:8080'])
  })
}
