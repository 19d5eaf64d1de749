import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { families } from '../../src/net/ip.ts'
import type { Family } from '../../src/net/ip.ts'
import { clients, localPods } from './testing/address-plan.ts'
import { fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { allProxies, describeEach } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import type { Source, Target } from './testing/row.ts'
import { givenService, webPort } from './testing/service-fixture.ts'
import type { PortFixture, ServiceFixture } from './testing/service-fixture.ts'
import { whoAnswers } from './testing/tally.ts'

const everyone = ['here-1', 'there-1', 'there-2'] as const
const udpPort: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: 53 }
const sticky = givenService('sticky', 2, {
  type: 'LoadBalancer',
  affinitySeconds: 10_800,
  ports: [webPort, udpPort],
  endpoints: everyone,
})
const stickyHere = givenService('sticky-here', 3, {
  type: 'LoadBalancer',
  externalTrafficPolicy: 'Local',
  affinitySeconds: 10_800,
  endpoints: ['here-1', 'here-2', 'there-1'],
})
const forgetful = givenService('forgetful', 4, { affinitySeconds: 1, endpoints: everyone })
const services = [sticky, stickyHere, forgetful]

/** Enough to tell chance from a rule: all of them choose the same of three endpoints once in five million times. */
const sources: readonly Source[] = [...localPods, ...clients, 'node']

describeEach([...allProxies, fairleadEbpf], (proxy) => {
  let rig: Rig
  beforeAll(async () => {
    rig = await Rig.start(proxy, {}, services)
  })
  afterAll(() => rig?.[Symbol.asyncDispose]())

  /** Replaces some Services by what they have become. */
  const program = (...changed: readonly ServiceFixture[]) =>
    rig.program(services.map((service) => changed.find(({ name }) => name === service.name) ?? service))

  /** Who serves each client, in both families. */
  const choices = (target: Target) =>
    Promise.all(
      families.flatMap((family) =>
        sources.map(async (from) => `${from} ${await whoAnswers(rig, from, target, family)}`),
      ),
    )

  test('each client stays with its endpoint, until that one is gone', async () => {
    const chosen = new Set<string>()
    for (const family of families)
      for (const from of sources)
        for (const port of sticky.ports) {
          const answers = await answersTo(rig, from, at('cluster IP', sticky, port), family, 6)
          expect(answers.size, `${from} met ${[...answers].join(' and ')}`).toBe(1)
          for (const pod of answers) chosen.add(pod)
        }
    expect(chosen.size, 'not all clients have the same endpoint').toBeGreaterThan(1)

    const target = at('cluster IP', sticky)
    const before = await whoAnswers(rig, 'caller', target, 'ipv4')
    const left = everyone.filter((pod) => !before.startsWith(pod))
    await program({ ...sticky, endpoints: left })
    const after = await answersTo(rig, 'caller', target, 'ipv4', 8)
    expect(after.size).toBe(1)
    expect(left.map((pod) => `${pod}:${webPort.target}`)).toContain([...after][0])
  })

  test('with policy Local an outside client stays with a local endpoint', async () => {
    for (const family of families)
      for (const from of clients) {
        const answers = await answersTo(rig, from, at('VIP', stickyHere), family, 6)
        expect(answers.size).toBe(1)
        expect(['here-1:8080', 'here-2:8080']).toContain([...answers][0])
      }
  })

  test('a client has the same endpoint whichever address it asks', async () => {
    await program()
    const inside = await choices(at('cluster IP', sticky))
    expect(await choices(at('VIP', sticky))).toEqual(inside)
    expect(await choices(at('node port', sticky))).toEqual(inside)
  })

  test.each(['SIGTERM', 'SIGKILL'] as const)(
    'each client stays with its endpoint over a restart (%s)',
    async (signal) => {
      await program()
      const before = await choices(at('cluster IP', sticky))
      await rig.proxy.stop(signal)
      rig.proxy.run()
      await program()
      expect(await choices(at('cluster IP', sticky))).toEqual(before)
    },
  )

  test('it ends with its timeout', async () => {
    const first = await choices(at('cluster IP', forgetful))
    await sleep(afterTimeoutMs)
    expect(await choices(at('cluster IP', forgetful))).not.toEqual(first)
  })

  test('a changed timeout counts from the next connection on', async () => {
    await program({ ...sticky, affinitySeconds: 1 }, { ...forgetful, affinitySeconds: 10_800 })
    const targets = [at('cluster IP', sticky), at('cluster IP', forgetful)] as const
    const [shorter, longer] = await Promise.all([choices(targets[0]), choices(targets[1])])
    await sleep(afterTimeoutMs)
    expect(await choices(targets[0])).not.toEqual(shorter)
    expect(await choices(targets[1])).toEqual(longer)
  })

  test('without affinity a client meets all endpoints again', async () => {
    await program()
    await choices(at('cluster IP', sticky))
    await program({ ...sticky, affinitySeconds: 0 })
    // By chance, one of three is never met once in 25 million times.
    const answers = await answersTo(rig, 'caller', at('cluster IP', sticky), 'ipv4', 45)
    expect(answers.size).toBe(everyone.length)
  })
})

/** The kernel counts whole seconds. */
const afterTimeoutMs = 2100

async function answersTo(rig: Rig, from: Source, target: Target, family: Family, times: number): Promise<Set<string>> {
  const answers = new Set<string>()
  for (let n = 0; n < times; n++) answers.add(await whoAnswers(rig, from, target, family))
  return answers
}
