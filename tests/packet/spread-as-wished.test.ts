/** Weights and algorithms that Services ask for by annotation, with real connections. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { choicesOf } from '../../src/backends/iptables/choices.ts'
import type { Endpoint, NonEmpty } from '../../src/core/route.ts'
import { testEndpoint } from '../../src/core/testing/routes.ts'
import { clientHashProgram } from '../../src/dataplane/iptables/language/client-hash.ts'
import type { Match } from '../../src/dataplane/iptables/language/rule.ts'
import { headerFrom, isTaken, parseBytecode } from '../../src/dataplane/iptables/testing/run-bytecode.ts'
import { families } from '../../src/net/ip.ts'
import type { Family } from '../../src/net/ip.ts'
import { plans } from './testing/address-plan.ts'
import type { PodName } from './testing/address-plan.ts'
import { ask } from './testing/ask.ts'
import { podPorts } from './testing/cluster.ts'
import { Explained } from './testing/explained.ts'
import { fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { describeEach, fairleads } from './testing/proxies.ts'
import { addressOf, Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import type { Target } from './testing/row.ts'
import { givenService, targetsOf, webPort } from './testing/service-fixture.ts'
import type { PortFixture, ServiceFixture } from './testing/service-fixture.ts'
import { chiSquare, farFromShare, tallyAnswers } from './testing/tally.ts'

const udpPort: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: podPorts.dnsUdp }
/** Clear of what pods listen on anyway. */
const manyPort: PortFixture = { ...webPort, target: 9000 }
const securePort: PortFixture = { name: 'https', protocol: 'TCP', port: 443, target: podPorts.secure }
const three = ['here-1', 'here-2', 'there-1'] as const satisfies readonly PodName[]
const byHash = { 'fairlead.dev/algorithm': 'source-hash' }

/** 1, 3 and 6 of ten; a pod in each family. */
const oneThreeSix = (['here-2', 'there-1'] as const)
  .flatMap((pod, index) => families.map((family) => `ip:${plans[family].hosts[pod]}=${index === 0 ? 3 : 6}`))
  .join(', ')

const weighted = givenService('weighted', 1, {
  ports: [webPort, udpPort],
  endpoints: three,
  annotations: { 'fairlead.dev/weights': oneThreeSix },
})
const drained = givenService('drained', 2, {
  endpoints: three,
  annotations: { 'fairlead.dev/weights': 'node:node1=0' },
})
const hashed = givenService('hashed', 3, {
  type: 'LoadBalancer',
  ports: [webPort, securePort],
  endpoints: three,
  annotations: byHash,
})
const both = givenService('both', 4, {
  endpoints: three,
  annotations: { ...byHash, 'fairlead.dev/weights': oneThreeSix },
})
const forty = givenService('forty', 5, {
  ports: [manyPort],
  endpoints: [...three, 'there-2'],
  serversPerPod: 10,
  annotations: byHash,
})
const sticky = givenService('sticky', 6, { endpoints: three, affinitySeconds: 10_800, annotations: byHash })
const services = [weighted, drained, hashed, both, forty, sticky]

/** Addresses of the caller. */
const manyClients: Readonly<Record<Family, readonly string[]>> = {
  ipv4: upFrom(110).map((last) => `10.244.1.${last}`),
  ipv6: upFrom(1).map((last) => `fd00:244:1::1:${last.toString(16)}`),
}

describeEach([...fairleads, fairleadEbpf], (proxy) => {
  let rig: Rig
  let explained: Explained
  beforeAll(async () => {
    explained = await Explained.of({ mode: proxy.mode, settings: {}, services })
    rig = await Rig.start(proxy, {}, services)
    rig.cluster.addPodAddresses(
      'caller',
      families.flatMap((family) => manyClients[family]),
    )
    for (const pod of [...three, 'there-2'] as const) rig.cluster.listenOnPod(pod, targetsOf(forty, manyPort))
  })
  afterAll(() => rig?.[Symbol.asyncDispose]())

  const program = (...changed: readonly ServiceFixture[]) =>
    rig.program(services.map((service) => changed.find(({ name }) => name === service.name) ?? service))

  /** Who answers each of the many clients. */
  const choices = async (target: Target, family: Family): Promise<ReadonlyMap<string, string>> => {
    const answers = new Map<string, string>()
    const ips = manyClients[family]
    for (let start = 0; start < ips.length; start += 16)
      await Promise.all(
        ips.slice(start, start + 16).map(async (source) => {
          const where = { transport: 'tcp', ...addressOf(target, family), source, patienceMs: 10_000 } as const
          const outcome = await ask(rig.cluster.host('caller'), where)
          answers.set(
            source,
            outcome.kind === 'answer' ? `${outcome.answer.answeredBy}:${outcome.answer.port}` : outcome.kind,
          )
        }),
      )
    return answers
  }

  test('weights 1, 3 and 6 are shares of new connections, as explained', async () => {
    for (const family of families)
      for (const port of weighted.ports) {
        const target = at('cluster IP', weighted, port)
        const counts = await tallyAnswers(rig, 'caller', target, family, 600)
        expect(farFromShare(counts, explained.shares('caller', target, family))).toEqual([])
        const found = three.map((pod) => counts.get(`${pod}:${port.target}`) ?? 0)
        // With fair dice it is exceeded once in a million times.
        expect(chiSquare(found, [1, 3, 6]), `${family} ${port.name}: ${found.join(', ')}`).toBeLessThan(28)
      }
  })

  test('weight 0 gets nothing while another has a weight, and its share once all have none', async () => {
    const target = at('cluster IP', drained)
    for (const family of families)
      expect([...(await tallyAnswers(rig, 'caller', target, family, 20)).keys()]).toEqual(['there-1:8080'])
    const allDrain = { ...drained, annotations: { 'fairlead.dev/weights': '*=0' } }
    await program(allDrain)
    for (const family of families) {
      // By chance, one of three is never met once in ten million times.
      const counts = await tallyAnswers(rig, 'caller', target, family, 60)
      expect([...counts.keys()].sort()).toEqual(three.map((pod) => `${pod}:8080`))
    }
    await program()
  })

  test('by source-hash each client has one endpoint, at each address and port of the Service', async () => {
    for (const family of families) {
      const chosen = await choices(at('cluster IP', hashed), family)
      expect(await choices(at('cluster IP', hashed), family)).toEqual(chosen)
      expect(await choices(at('VIP', hashed), family)).toEqual(chosen)
      expect(await choices(at('node port', hashed), family)).toEqual(chosen)
      const podOf = (answers: ReadonlyMap<string, string>) =>
        [...answers].map(([client, answer]) => `${client} ${answer.replace(/:.*/, '')}`).sort()
      expect(podOf(await choices(at('cluster IP', hashed, securePort), family))).toEqual(podOf(chosen))
      const counts = countsOf(chosen, three, webPort.target)
      expect(chiSquare(counts), `${family}: ${counts.join(', ')}`).toBeLessThan(28)
    }
  })

  test('by source-hash weights are shares of clients', async () => {
    for (const family of families) {
      const counts = countsOf(await choices(at('cluster IP', both), family), three, webPort.target)
      expect(chiSquare(counts, [1, 3, 6]), `${family}: ${counts.join(', ')}`).toBeLessThan(28)
    }
  })

  test('by source-hash many endpoints are chosen, each client has one, and a restart changes nothing', async () => {
    const target = at('cluster IP', forty, manyPort)
    const before = new Map<Family, ReadonlyMap<string, string>>()
    for (const family of families) {
      const chosen = await choices(target, family)
      before.set(family, chosen)
      expect(await choices(target, family)).toEqual(chosen)
      // Of 128 clients of 40 endpoints, about 38 have a client; fewer than 30 are as unlikely as a million to one.
      expect(new Set(chosen.values()).size).toBeGreaterThan(29)
    }
    await rig.proxy.stop('SIGTERM')
    rig.proxy.run()
    await program()
    for (const family of families) expect(await choices(target, family)).toEqual(before.get(family))
  })

  test.skipIf(proxy.mode !== 'iptables')('the kernel chooses as the rules are meant, for each client', async () => {
    for (const family of families)
      for (const service of [hashed, both, forty]) {
        const [port = webPort] = service.ports
        const found = await choices(at('cluster IP', service, port), family)
        const planned = choicesOf({ family, traffic: { algorithm: 'source-hash' } }, endpointsOf(service, port, family))
        for (const [client, answer] of found) {
          const chosen = planned.find(({ matches }) => matches.every((match) => takes(match, client)))
          expect(`${client} ${answer}`).toBe(`${client} ${podAt(chosen?.endpoint, family)}`)
        }
      }
  })

  test.skipIf(proxy.mode !== 'iptables')('affinity keeps the endpoint that the hash has chosen', async () => {
    const [family] = families
    const chosen = await choices(at('cluster IP', hashed), family)
    expect(await choices(at('cluster IP', sticky), family)).toEqual(chosen)
    const more = [...three, 'there-2'] as const
    await program({ ...hashed, endpoints: more }, { ...sticky, endpoints: more })
    expect(await choices(at('cluster IP', hashed), family)).not.toEqual(chosen)
    expect(await choices(at('cluster IP', sticky), family)).toEqual(chosen)
    await program()
  })
})

function countsOf(answers: ReadonlyMap<string, string>, pods: readonly PodName[], port: number): readonly number[] {
  const all = [...answers.values()]
  const counts = pods.map((pod) => all.filter((answer) => answer === `${pod}:${port}`).length)
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(all.length)
  return counts
}

/** As the Service has them, sorted as the core sorts them. */
function endpointsOf(service: ServiceFixture, port: PortFixture, family: Family): NonEmpty<Endpoint> {
  const weights: Readonly<Record<string, number>> =
    'fairlead.dev/weights' in service.annotations ? { 'here-2': 3, 'there-1': 6 } : {}
  const [first, ...others] = service.endpoints
    .flatMap((pod) => targetsOf(service, port).map((target) => ({ pod: pod as PodName, target })))
    .map(({ pod, target }) => testEndpoint(plans[family].hosts[pod], target, { weight: weights[pod] ?? 1 }))
    .sort((left, right) => (left.address < right.address ? -1 : 1))
  if (first === undefined) throw new Error('the Service has no endpoints')
  return [first, ...others]
}

function takes(match: Match, client: string): boolean {
  if (match.kind !== 'client-share') throw new Error(`no client is chosen by ${match.kind}`)
  return isTaken(parseBytecode(clientHashProgram(match)), headerFrom(client))
}

function podAt(endpoint: Endpoint | undefined, family: Family): string {
  const pod = Object.entries(plans[family].hosts).find(([, ip]) => ip === endpoint?.ip)?.[0]
  return `${pod}:${endpoint?.port}`
}

function upFrom(first: number): readonly number[] {
  return Array.from({ length: 128 }, (_, index) => first + index)
}
