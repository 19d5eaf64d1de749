import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { families } from '../../src/net/ip.ts'
import type { Family } from '../../src/net/ip.ts'
import { clients, localPods } from './testing/address-plan.ts'
import { allProxies, describeEach } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import type { Source, Target } from './testing/row.ts'
import { givenService, webPort } from './testing/service-fixture.ts'
import type { PortFixture } from './testing/service-fixture.ts'

const everyone = ['here-1', 'there-1', 'there-2'] as const
const udpPort: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: 53 }
const web = givenService('web', 1, { ports: [webPort, udpPort], endpoints: everyone })
const sticky = givenService('sticky', 2, { affinitySeconds: 10_800, ports: [webPort, udpPort], endpoints: everyone })
const stickyHere = givenService('sticky-here', 3, {
  type: 'LoadBalancer',
  externalTrafficPolicy: 'Local',
  affinitySeconds: 10_800,
  endpoints: ['here-1', 'here-2', 'there-1'],
})
const forgetful = givenService('forgetful', 4, { affinitySeconds: 1, endpoints: everyone })

const services = [web, sticky, stickyHere, forgetful]

/** Enough to tell chance from a rule: all of them choose the same of three endpoints once in five million times. */
const sources: readonly Source[] = [...localPods, ...clients, 'node']

describeEach(allProxies, (proxy) => {
  let rig: Rig
  beforeAll(async () => {
    rig = await Rig.start(proxy, {}, services)
  })
  afterAll(() => rig?.[Symbol.asyncDispose]())

  test('connections are spread evenly over the endpoints', async () => {
    for (const family of families)
      for (const port of web.ports) {
        const counts = await countAnswers(rig, at('cluster IP', web, port), family, 300)
        expect([...counts.keys()].sort()).toEqual([...everyone])
        // With fair dice, chi-square with two degrees of freedom exceeds 23 once in 100,000 times.
        const expected = 300 / everyone.length
        const chiSquare = [...counts.values()].reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0)
        expect({ counts, isFair: chiSquare < 23 }).toEqual({ counts, isFair: true })
      }
  })

  test('with session affinity each client stays with its endpoint, until that one is gone', async () => {
    const chosen = new Set<string>()
    for (const family of families)
      for (const from of sources)
        for (const port of sticky.ports) {
          const answers = await whoAnswers(rig, from, at('cluster IP', sticky, port), family, 6)
          expect(answers.size, `${from} met ${[...answers].join(' and ')}`).toBe(1)
          for (const pod of answers) chosen.add(pod)
        }
    expect(chosen.size, 'not all clients have the same endpoint').toBeGreaterThan(1)

    const target = at('cluster IP', sticky)
    const [before = ''] = await whoAnswers(rig, 'caller', target, 'ipv4', 1)
    const left = everyone.filter((pod) => pod !== before)
    await rig.program(services.map((service) => (service === sticky ? { ...sticky, endpoints: left } : service)))
    const after = await whoAnswers(rig, 'caller', target, 'ipv4', 8)
    expect(after.size).toBe(1)
    expect(left).toContain([...after][0])
  })

  test('with session affinity and policy Local an outside client stays with a local endpoint', async () => {
    for (const family of families)
      for (const from of clients) {
        const answers = await whoAnswers(rig, from, at('VIP', stickyHere), family, 6)
        expect(answers.size).toBe(1)
        expect(['here-1', 'here-2']).toContain([...answers][0])
      }
  })

  test('session affinity ends with its timeout', async () => {
    const target = at('cluster IP', forgetful)
    const choices = async () =>
      Promise.all(
        families.flatMap((family) =>
          sources.map(async (from) => [...(await whoAnswers(rig, from, target, family, 1))].join()),
        ),
      )
    const first = await choices()
    await sleep(2100) // the kernel counts whole seconds
    expect(await choices()).not.toEqual(first)
  })
})

async function countAnswers(rig: Rig, target: Target, family: Family, times: number): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  const atOnce = 10
  for (let n = 0; n < times; n += atOnce) {
    const asked = Array.from({ length: atOnce }, () => rig.ask('caller', target, family, 5000))
    for (const outcome of await Promise.all(asked)) {
      const who = outcome.kind === 'answer' ? outcome.answer.answeredBy : outcome.kind
      counts.set(who, (counts.get(who) ?? 0) + 1)
    }
  }
  return counts
}

async function whoAnswers(rig: Rig, from: Source, target: Target, family: Family, times: number): Promise<Set<string>> {
  const answers = new Set<string>()
  for (let n = 0; n < times; n++) {
    const outcome = await rig.ask(from, target, family, 5000)
    answers.add(outcome.kind === 'answer' ? outcome.answer.answeredBy : outcome.kind)
  }
  return answers
}
