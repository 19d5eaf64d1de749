/** Each scheduler spreads connections as it promises, with the weights 1, 3 and 6. All are asked for by annotation, at once. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ipvsSchedulers } from '../../../src/api/records.ts'
import type { IpvsScheduler } from '../../../src/api/records.ts'
import { serverFlag } from '../../../src/dataplane/ipvs/ipvs.ts'
import { plans } from '../../packet/testing/address-plan.ts'
import { ask, openTcp } from '../../packet/testing/ask.ts'
import { podPorts } from '../../packet/testing/cluster.ts'
import { Conversation } from '../../packet/testing/conversation.ts'
import { Explained } from '../../packet/testing/explained.ts'
import { Rig } from '../../packet/testing/rig.ts'
import { at } from '../../packet/testing/row.ts'
import { givenService, webPort } from '../../packet/testing/service-fixture.ts'
import type { PortFixture, ServiceFixture } from '../../packet/testing/service-fixture.ts'
import { farFromShare, tallyAnswers, whoAnswers } from '../../packet/testing/tally.ts'
import { askFromPort } from './testing/fixed-port-client.ts'
import { startFairleadIpvs } from './testing/ipvs-proxies.ts'
import { activeConnections, virtualServers, weightsOf } from './testing/kernel-state.ts'

const echoPort: PortFixture = { name: 'echo', protocol: 'TCP', port: 7, target: podPorts.echo }
const endpoints = ['here-1', 'here-2', 'here-3'] as const
const { hosts } = plans.ipv4

/** By the addresses of the endpoints. */
function weights(first: number, second: number, third: number): string {
  return endpoints.map((pod, index) => `ip:${hosts[pod]}=${[first, second, third][index]}`).join(', ')
}

function spread(name: string, index: number, annotations: Readonly<Record<string, string>>): ServiceFixture {
  const named = Object.entries(annotations).map(([annotation, value]) => [`fairlead.dev/${annotation}`, value])
  return givenService(name, index, { ports: [webPort, echoPort], endpoints, annotations: Object.fromEntries(named) })
}

const byScheduler = Object.fromEntries(
  ipvsSchedulers.map((scheduler, index) => [
    scheduler,
    spread(scheduler, index + 1, { 'ipvs-scheduler': scheduler, weights: weights(1, 3, 6) }),
  ]),
) as Readonly<Record<IpvsScheduler, ServiceFixture>>
const others = {
  plain: spread('plain', 21, {}),
  weighted: spread('weighted', 22, { weights: weights(1, 3, 6) }),
  'round-robin': spread('round-robin', 23, { algorithm: 'round-robin' }),
  'least-connections': spread('least-connections', 24, { algorithm: 'least-connections', weights: weights(1, 3, 6) }),
  'source-hash': spread('source-hash', 25, { algorithm: 'source-hash', weights: weights(1, 3, 6) }),
  maglev: spread('maglev', 26, { algorithm: 'maglev', weights: weights(1, 3, 6) }),
  random: spread('random', 27, { algorithm: 'random' }),
  'many-addresses': {
    ...spread('many-addresses', 28, { 'ipvs-scheduler': 'dh' }),
    type: 'LoadBalancer',
    vips: 'two',
    hasExternalIP: true,
  },
} as const
const services: readonly ServiceFixture[] = [...Object.values(byScheduler), ...Object.values(others)]

let rig: Rig
let explained: Explained
beforeAll(async () => {
  explained = await Explained.of({ mode: 'ipvs', settings: {}, services })
  rig = await Rig.startWith((cluster) => startFairleadIpvs(cluster, { scheduler: 'rr' }), services)
  giveOutsideManyAddresses()
})
afterAll(() => rig?.[Symbol.asyncDispose]())

test('a Service has the scheduler that it asks for, others have the usual one', () => {
  const { scheduler1: fallback, scheduler2: port } = serverFlag
  const servers = virtualServers(rig.cluster)
  const found = services.map(({ name, index }) => {
    const server = servers.find(({ ip }) => ip === plans.ipv4.clusterIP(index))
    return [name, server?.scheduler, server?.flags]
  })
  const flags: Readonly<Partial<Record<string, number>>> = { sh: fallback, mh: fallback | port }
  expect(found).toEqual([
    ...ipvsSchedulers.map((scheduler) => [scheduler, scheduler, flags[scheduler] ?? 0]),
    ['plain', 'rr', 0],
    ['weighted', 'wrr', 0],
    ['round-robin', 'rr', 0],
    ['least-connections', 'wlc', 0],
    ['source-hash', 'sh', fallback],
    ['maglev', 'mh', fallback | port],
    ['random', 'rr', 0],
    ['many-addresses', 'dh', 0],
  ])
  expect(rig.proxy.log()).toContain('fairlead.dev/algorithm: random is ignored: the ipvs mode cannot do it')
})

test.each([
  ['rr', 30, [10, 10, 10]],
  ['wrr', 100, [10, 30, 60]],
] as const)('%s: of %d connections the endpoints get %j', async (scheduler, times, counts) => {
  const target = at('cluster IP', byScheduler[scheduler])
  const answers = await tallyAnswers(rig, 'caller', target, 'ipv4', times)
  expect(endpoints.map((pod) => answers.get(`${pod}:8080`))).toEqual(counts)
  expect(farFromShare(answers, explained.shares('caller', target, 'ipv4'))).toEqual([])
})

describe.each([
  ['lc', [1, 1, 1], 9, [3, 3, 3]],
  ['wlc', [1, 1, 1], 10, [1, 3, 6]],
  // The shortest delay is expected of those with much weight.
  ['sed', [0, 1, 2], 10, [1, 3, 6]],
  // One that never queues takes an endpoint without connections first.
  ['nq', [1, 1, 1], 10, [1, 3, 6]],
] as const)('%s', (scheduler, afterThree, times, counts) => {
  test(`of ${times} connections that last the endpoints have ${counts.join(', ')}`, async () => {
    using held = new HeldConnections(byScheduler[scheduler])
    await held.add(3)
    expect(held.byEndpoint()).toEqual(afterThree)
    await held.add(times - 3)
    expect(held.byEndpoint()).toEqual(counts)
  })
})

test.each(['lblc', 'lblcr'] as const)(
  '%s: an address keeps its endpoint until that has more than its weight',
  async (scheduler) => {
    const service = byScheduler[scheduler]
    const answers = await answersFrom(service, ['caller', 'outside', 'blocked', 'caller'])
    const [first = ''] = answers
    expect(new Set(answers).size).toBe(1)
    const place = endpoints.findIndex((pod) => first.startsWith(pod))
    using held = new HeldConnections(service)
    await held.add(8)
    expect(held.byEndpoint()[place]).toBe(([1, 3, 6][place] ?? 0) + 1)
    expect(held.byEndpoint().reduce((sum, count) => sum + count)).toBe(8)
  },
)

test('sh: a client keeps its endpoint, and shares are within 2 % of the weights', async () => {
  const once = await choicesOf(outsideAddresses, byScheduler.sh)
  expect(await choicesOf(outsideAddresses.slice(0, 20), others['source-hash'])).toEqual(once.slice(0, 20))
  const shares = endpoints.map((pod) => once.filter((choice) => choice === pod).length / once.length)
  const far = shares.map((share, index) => Math.abs(share - ([0.1, 0.3, 0.6][index] ?? 0)))
  expect(Math.max(...far), `shares are ${shares.join(', ')}`).toBeLessThanOrEqual(0.02)
})

test('mh: address and port of the client decide, alike for every Service with these endpoints, and by weight', async () => {
  const choices = async (service: ServiceFixture) => {
    const chosen: string[] = []
    const target = { ip: plans.ipv4.clusterIP(service.index), port: webPort.port }
    for (let localPort = 20_000; localPort < 20_020; localPort++)
      chosen.push(await askFromPort(rig.cluster.host('caller'), { ...target, localPort }))
    return chosen
  }
  const once = await choices(byScheduler.mh)
  expect(new Set(once).size).toBeGreaterThan(1)
  expect(await choices(others.maglev)).toEqual(once)
  const target = at('cluster IP', byScheduler.mh)
  const answers = await tallyAnswers(rig, 'caller', target, 'ipv4', 200)
  expect(farFromShare(answers, explained.shares('caller', target, 'ipv4'))).toEqual([])
})

test('dh: an address of a Service keeps its endpoint, whoever asks, and addresses differ', async () => {
  const chosen: string[] = []
  for (const door of ['cluster IP', 'external IP', 'VIP', 'second VIP'] as const) {
    const answers = new Set<string>()
    for (const from of ['caller', 'outside', 'blocked'] as const)
      answers.add(await whoAnswers(rig, from, at(door, others['many-addresses']), 'ipv4'))
    chosen.push([...answers].join(' and '))
  }
  expect(new Set(chosen).size, `all are ${chosen.join(', ')}`).toBeGreaterThan(1)
  expect(chosen.filter((choice) => !/^here-[123]:8080$/.test(choice))).toEqual([])
})

test('weights and schedulers change in place: connections go on, and who has 0 drains', async () => {
  const clients = outsideAddresses.slice(0, 24)
  const drained = 'here-3'
  const hashed = clients[(await choicesOf(clients, byScheduler.sh)).indexOf(drained)]
  if (hashed === undefined) throw new Error(`no client of the test has ${drained}`)
  using held = new HeldConnections(byScheduler.wrr)
  await held.add(4)
  expect(held.byEndpoint()[2]).toBeGreaterThan(0)
  using byHash = await conversation(byScheduler.sh, hashed)
  using rescheduled = await conversation(others['round-robin'])
  await rig.program([
    { ...byScheduler.wrr, ...annotated({ 'ipvs-scheduler': 'wrr', weights: weights(2, 1, 0) }) },
    { ...byScheduler.sh, ...annotated({ 'ipvs-scheduler': 'sh', weights: weights(1, 1, 0) }) },
    { ...others['round-robin'], ...annotated({ algorithm: 'least-connections' }) },
  ])
  await expect.poll(() => echoWeights(byScheduler.wrr), soon).toEqual({ 'here-1': 2, 'here-2': 1, [drained]: 0 })
  await expect.poll(() => echoWeights(byScheduler.sh), soon).toMatchObject({ [drained]: 0 })
  await held.goOn()
  await byHash.goesOn()
  await rescheduled.goesOn()
  const answers = await tallyAnswers(rig, 'caller', at('cluster IP', byScheduler.wrr), 'ipv4', 30)
  expect(Object.fromEntries(answers)).toEqual({ 'here-1:8080': 20, 'here-2:8080': 10 })
  // The virtual server of the other port has no connections, and so nobody that drains; this one has.
  const choices = await choicesOf(clients, byScheduler.sh, echoPort)
  expect(new Set(choices)).toEqual(new Set(['connected']))
})

const soon = { timeout: 60_000, interval: 200 }

function annotated(annotations: Readonly<Record<string, string>>): Pick<ServiceFixture, 'annotations'> {
  return { annotations: spread('any', 0, annotations).annotations }
}

function echoWeights({ index }: ServiceFixture): Readonly<Record<string, number>> {
  return weightsOf(rig.cluster, plans.ipv4.clusterIP(index), echoPort.port)
}

function conversation({ index }: ServiceFixture, source?: string): Promise<Conversation> {
  const place = { ip: plans.ipv4.clusterIP(index), port: echoPort.port }
  const from = source === undefined ? 'caller' : 'outside'
  return Conversation.start(openTcp(rig.cluster.host(from), { ...place, ...(source !== undefined && { source }) }))
}

/** Of the caller, to the echo port of a Service. */
class HeldConnections implements Disposable {
  readonly #service: ServiceFixture
  readonly #conversations: Conversation[] = []

  constructor(service: ServiceFixture) {
    this.#service = service
  }

  /** One after the other: each sees the ones before it. */
  async add(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const one = await conversation(this.#service)
      this.#conversations.push(one)
      await one.goesOn()
    }
  }

  async goOn(): Promise<void> {
    for (const one of this.#conversations) await one.goesOn()
  }

  byEndpoint(): readonly number[] {
    const active = activeConnections(rig.cluster, plans.ipv4.clusterIP(this.#service.index), echoPort.port)
    return endpoints.map((pod) => active.get(hosts[pod]) ?? 0)
  }

  [Symbol.dispose](): void {
    for (const one of this.#conversations) one[Symbol.dispose]()
  }
}

async function answersFrom(
  service: ServiceFixture,
  sources: readonly ('caller' | 'outside' | 'blocked')[],
): Promise<readonly string[]> {
  const answers: string[] = []
  for (const from of sources) answers.push(await whoAnswers(rig, from, at('cluster IP', service), 'ipv4'))
  return answers
}

/** Neighbours, as clients of one network are. */
const outsideAddresses = Array.from({ length: 250 }, (_, index) => `198.18.0.${index + 1}`)

function giveOutsideManyAddresses(): void {
  const { cluster } = rig
  cluster.host('outside').ip('route add local 198.18.0.0/24 dev lo')
  cluster.node.ip(`route add 198.18.0.0/24 via ${hosts.outside} dev outside`)
}

/** Who answers each of them; of the echo port, which does not say who it is, only that it takes the connection. */
async function choicesOf(
  sources: readonly string[],
  { index }: ServiceFixture,
  port: PortFixture = webPort,
): Promise<readonly string[]> {
  const client = rig.cluster.host('outside')
  const ip = plans.ipv4.clusterIP(index)
  const choices: string[] = []
  for (const source of sources) {
    if (port === echoPort) {
      using one = await Conversation.start(openTcp(client, { ip, port: port.port, source }))
      await one.goesOn()
      choices.push('connected')
      continue
    }
    const outcome = await ask(client, { transport: 'tcp', ip, port: port.port, source, patienceMs: 60_000 })
    choices.push(outcome.kind === 'answer' ? outcome.answer.answeredBy : outcome.kind)
  }
  return choices
}
