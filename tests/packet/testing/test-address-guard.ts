/** Tests of the guard of external and load-balancer IPs, for any mode of Fairlead: one row for each way to take an address. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { families } from '../../../src/net/ip.ts'
import type { Family } from '../../../src/net/ip.ts'
import { plans } from './address-plan.ts'
import type { AddressPlan } from './address-plan.ts'
import { ask } from './ask.ts'
import { Explained } from './explained.ts'
import type { Proxy, ProxySettings } from './proxy.ts'
import { Rig } from './rig.ts'
import { givenService } from './service-fixture.ts'
import type { ServiceFixture } from './service-fixture.ts'

interface Hijack {
  readonly takes: string
  readonly address: (plan: AddressPlan) => string
  readonly port: number
  /** Who answers there if the thief does not; absent where modes differ. */
  readonly otherwise?: string
  /** In the ipvs mode all of a Service's address is its own. */
  readonly inIpvs?: string
  /** How the explanation calls it. */
  readonly takenAs: string
}

/** Its address is the one of which a thief takes another port. */
const owner = givenService('owner', 60, { type: 'LoadBalancer', endpoints: ['here-4'] })

/** Where its pod is taken, the relay of the userspace mode ends at the thief, too: nobody else has it. */
const victim = givenService('victim', 61, { endpoints: ['here-2'] })

const hijacks: readonly Hijack[] = [
  // The nftables mode drops what no Service has there, others leave it alone.
  { takes: 'a free cluster IP', address: (plan) => plan.unallocatedIP, port: 80, takenAs: 'serviceRange' },
  {
    takes: "another namespace's pod",
    address: (plan) => plan.hosts['here-2'],
    port: 8080,
    otherwise: 'here-2',
    takenAs: 'endpoint',
  },
  {
    takes: 'a pod of no Service',
    address: (plan) => plan.hosts['here-3'],
    port: 8080,
    otherwise: 'here-3',
    takenAs: 'podRange',
  },
  {
    takes: "the node's address",
    address: (plan) => plan.nodeIP,
    port: 8081,
    otherwise: 'the node',
    takenAs: 'node',
  },
  {
    takes: "another namespace's load balancer",
    address: (plan) => plan.vip(owner.index),
    port: 443,
    otherwise: 'beyond',
    inIpvs: 'refused',
    takenAs: 'otherNamespace',
  },
]

/** In none of the ranges that are allowed below. */
const notAllowed: Hijack = {
  takes: 'an external IP that is not allowed',
  address: (plan) => plan.externalIP(70),
  port: 81,
  otherwise: 'beyond',
  takenAs: 'notAllowed',
}

const allowed = families.flatMap((family) => {
  const plan = plans[family]
  return [plan.podRange, plan.serviceRange, plan.nodeRange, `${plan.vip(0)}/${family === 'ipv4' ? 24 : 48}`]
})

const clients = ['caller', 'outside'] as const

const ways = ['takesAsExternalIPs', 'takesAsVips'] as const

/** The only Service with the pod `there-2`. */
function thief(
  { address, port }: Hijack,
  way: (typeof ways)[number],
  index: number,
  namespaceAnnotations: ServiceFixture['namespaceAnnotations'],
): ServiceFixture {
  return givenService(`thief-${index}`, 80 + index, {
    namespace: 'zz-evil',
    namespaceAnnotations,
    type: way === 'takesAsVips' ? 'LoadBalancer' : 'ClusterIP',
    vips: 'none',
    ports: [{ name: 'http', protocol: 'TCP', port, target: 8080 }],
    [way]: (plan: AddressPlan) => [address(plan)],
    endpoints: ['there-2'],
  })
}

export function testAddressGuard(proxy: Proxy): void {
  describe('deny', () => {
    testRows(proxy, { externalIPGuard: 'deny' }, hijacks, () => false)
  })
  describe('warn, with ranges that are allowed', () => {
    const settings = { externalIPGuard: 'warn', externalIPRanges: allowed } as const
    // A load balancer's address is not asked for those.
    testRows(proxy, settings, [...hijacks, notAllowed], (hijack, way) => hijack !== notAllowed || way === 'takesAsVips')
  })
  describe('off, but denied by the namespace of the thief, which allows some ranges', () => {
    const settings = { externalIPGuard: 'off', externalIPGuardNamespaces: true } as const
    const annotations = {
      'fairlead.dev/external-ip-guard': 'deny',
      'fairlead.dev/external-ip-cidrs': allowed.join(','),
    }
    const rows = [...hijacks, notAllowed]
    testRows(proxy, settings, rows, (hijack, way) => hijack === notAllowed && way === 'takesAsVips', annotations)
  })
}

function testRows(
  proxy: Proxy,
  settings: ProxySettings,
  rows: readonly Hijack[],
  isServed: (hijack: Hijack, way: (typeof ways)[number]) => boolean,
  namespaceAnnotations: ServiceFixture['namespaceAnnotations'] = {},
): void {
  let rig: Rig
  beforeAll(async () => {
    rig = await Rig.start(proxy, settings, [owner])
    rig.cluster.listenOnNode(8081)
  })
  afterAll(() => rig?.[Symbol.asyncDispose]())

  describe.each(ways)('of one that %s', (way) => {
    const thieves = rows.map((hijack, index) => thief(hijack, way, index, namespaceAnnotations))
    let explained: Explained
    beforeAll(async () => {
      await rig.program([owner, victim, ...thieves])
      explained = await Explained.of({ mode: proxy.mode, settings, services: [owner, victim, ...thieves] })
    })

    test.each(rows.map((hijack, index) => [hijack.takes, hijack, `zz-evil/thief-${index}`] as const))(
      '%s',
      async (_, hijack, name) => {
        const isHis = isServed(hijack, way)
        const otherwise = (proxy.mode === 'ipvs' ? hijack.inIpvs : undefined) ?? hijack.otherwise
        const expected = isHis ? 'there-2' : (otherwise ?? 'not there-2')
        const asked = families.flatMap((family) => clients.map((from) => ({ family, from })))
        // At once: where nobody answers, each takes seconds.
        await Promise.all(
          asked.map(async ({ family, from }) => {
            const who = await whoAnswersAt(rig, from, { ip: hijack.address(plans[family]), port: hijack.port })
            const seen = otherwise === undefined && who !== 'there-2' ? 'not there-2' : who
            expect([family, from, seen]).toEqual([family, from, expected])
            expectExplained(explained, hijack, { name, isHis, family, from })
          }),
        )
        // Nothing is wrong with a load balancer's address that is only outside of the ranges.
        const isSilent = hijack === notAllowed && isHis
        expect(
          new RegExp(`needs attention.*${name}".*${way === 'takesAsVips' ? 'load' : 'ext'}`).test(rig.proxy.log()),
        ).toBe(!isSilent)
      },
    )

    test('the owner keeps its own', async () => {
      for (const family of families)
        expect(await whoAnswersAt(rig, 'outside', { ip: plans[family].vip(owner.index), port: 80 })).toBe('here-4')
    })
  })
}

async function whoAnswersAt(
  rig: Rig,
  from: 'caller' | 'outside',
  place: { readonly ip: string; readonly port: number },
): Promise<string> {
  const patienceMs = 3000
  const outcome = await ask(rig.cluster.host(from), { transport: 'tcp', ...place, patienceMs })
  return outcome.kind === 'answer' ? outcome.answer.answeredBy : outcome.kind
}

function expectExplained(
  explained: Explained,
  { address, port, takenAs }: Hijack,
  { name, isHis, family, from }: { name: string; isHis: boolean; family: Family; from: 'caller' | 'outside' },
): void {
  const place = { ip: address(plans[family]), port, protocol: 'TCP' } as const
  const { service, refused } = explained.explainAt(plans[family].hosts[from], place)
  const found = service === undefined ? undefined : `${service.namespace}/${service.name}`
  const told = refused.map((it) => `${it.service} ${it.claim.takenAs}`)
  expect([found, told]).toEqual(isHis ? [name, []] : [undefined, [`${name} ${takenAs}`]])
}
