/** Each scheduler spreads connections as it should. Fairlead is started with one after the other, on the same node. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plans } from '../../packet/testing/address-plan.ts'
import { ask, openTcp } from '../../packet/testing/ask.ts'
import { podPorts } from '../../packet/testing/cluster.ts'
import { Conversation } from '../../packet/testing/conversation.ts'
import { Rig } from '../../packet/testing/rig.ts'
import { at } from '../../packet/testing/row.ts'
import { givenService, webPort } from '../../packet/testing/service-fixture.ts'
import type { PortFixture } from '../../packet/testing/service-fixture.ts'
import { whoAnswers } from '../../packet/testing/tally.ts'
import { startFairleadIpvs } from './testing/ipvs-proxies.ts'
import { activeConnections, virtualServers } from './testing/kernel-state.ts'

const echoPort: PortFixture = { name: 'echo', protocol: 'TCP', port: 7, target: podPorts.echo }
const endpoints = ['here-1', 'here-2'] as const
const web = givenService('web', 1, { ports: [webPort, echoPort], endpoints })
const others = [2, 3, 4, 5, 6, 7, 8].map((index) => givenService(`other-${index}`, index, { endpoints }))
const services = [web, ...others]

let rig: Rig
beforeAll(async () => {
  rig = await Rig.startWith((cluster) => startFairleadIpvs(cluster, { scheduler: 'rr' }), services)
  giveOutsideMoreAddresses()
})
afterAll(() => rig?.[Symbol.asyncDispose]())

test('rr: connections go to one endpoint after the other', async () => {
  await expectScheduler('rr')
  const answers: string[] = []
  for (let n = 0; n < 10; n++) answers.push(await whoAnswers(rig, 'caller', at('cluster IP', web), 'ipv4'))
  expect(answers.slice(2)).toEqual(answers.slice(0, -2))
  expect(new Set(answers)).toEqual(new Set(['here-1:8080', 'here-2:8080']))
})

describe.each(['lc', 'sed', 'nq'])('%s', (scheduler) => {
  test('connections that last are spread evenly', async () => {
    await restartWith(scheduler)
    const ip = plans.ipv4.clusterIP(web.index)
    const held: Conversation[] = []
    try {
      for (let n = 0; n < 4; n++) {
        held.push(await Conversation.start(openTcp(rig.cluster.host('caller'), { ip, port: echoPort.port })))
        await held[n]?.goesOn()
      }
      const { hosts } = plans.ipv4
      expect(activeConnections(rig.cluster, ip, echoPort.port)).toEqual(
        new Map([
          [hosts['here-1'], 2],
          [hosts['here-2'], 2],
        ]),
      )
    } finally {
      for (const conversation of held) conversation[Symbol.dispose]()
    }
  })
})

test('sh: a client keeps its endpoint, and clients differ', async () => {
  await restartWith('sh')
  const once = await choicesOfOutside()
  expect(await choicesOfOutside()).toEqual(once)
  expect(new Set(once)).toEqual(new Set(endpoints))
})

test('dh: a Service address keeps its endpoint, and addresses differ', async () => {
  await restartWith('dh')
  const chosen: string[] = []
  for (const service of services) {
    const answers = new Set<string>()
    for (const from of ['caller', 'outside', 'blocked'] as const)
      answers.add(await whoAnswers(rig, from, at('cluster IP', service), 'ipv4'))
    chosen.push([...answers].join(' and '))
  }
  expect(new Set(chosen)).toEqual(new Set(['here-1:8080', 'here-2:8080']))
})

/** A node keeps its servers when the scheduler is changed: they are edited in place. */
async function restartWith(scheduler: string): Promise<void> {
  await rig.proxy[Symbol.asyncDispose]()
  rig = new Rig(rig.cluster, await startFairleadIpvs(rig.cluster, { scheduler }))
  await rig.program(services)
  await expectScheduler(scheduler)
}

/** Servers that are not wanted any more go last. */
async function expectScheduler(scheduler: string): Promise<void> {
  const schedulers = () => new Set(virtualServers(rig.cluster).map((server) => server.scheduler))
  await expect.poll(schedulers, { timeout: 120_000, interval: 200 }).toEqual(new Set([scheduler]))
}

const outsideAddresses = Array.from({ length: 12 }, (_, index) => `203.0.113.${index + 16}`)

function giveOutsideMoreAddresses(): void {
  const { cluster } = rig
  cluster.host('outside').ip(...outsideAddresses.map((ip) => `address add ${ip} dev eth0`))
  cluster.node.ip('route add 203.0.113.16/28 dev outside')
}

async function choicesOfOutside(): Promise<readonly string[]> {
  const choices: string[] = []
  for (const source of outsideAddresses) {
    const ip = plans.ipv4.clusterIP(web.index)
    const question = { transport: 'tcp', ip, port: webPort.port, source, patienceMs: 60_000 } as const
    const outcome = await ask(rig.cluster.host('outside'), question)
    choices.push(outcome.kind === 'answer' ? outcome.answer.answeredBy : outcome.kind)
  }
  return choices
}
