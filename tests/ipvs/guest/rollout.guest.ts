/** A deployment is rolled out: pods come and go, and nobody's connection fails. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plans } from '../../packet/testing/address-plan.ts'
import type { PodName } from '../../packet/testing/address-plan.ts'
import { listenTcp } from '../../packet/testing/echo-server.ts'
import { Load } from '../../packet/testing/load.ts'
import { addressOf, Rig } from '../../packet/testing/rig.ts'
import { at } from '../../packet/testing/row.ts'
import { givenService } from '../../packet/testing/service-fixture.ts'
import type { PortFixture, ServiceFixture } from '../../packet/testing/service-fixture.ts'
import { askFromPort, repeatedSyns } from './testing/fixed-port-client.ts'
import { startFairleadIpvs } from './testing/ipvs-proxies.ts'
import { weightsOf } from './testing/kernel-state.ts'

/** Nobody listens there, but pods of this test while they live. */
const port: PortFixture = { name: 'http', protocol: 'TCP', port: 80, target: 9090 }
const rolling = givenService('rolling', 1, { type: 'NodePort', ports: [port], endpoints: ['here-1', 'there-1'] })
const reused = givenService('reused', 2, { type: 'NodePort', ports: [port], endpoints: ['here-1'] })

const soon = { timeout: 60_000, interval: 100 }

let rig: Rig
const pods = new Map<PodName, Disposable>()
beforeAll(async () => {
  rig = await Rig.startWith((cluster) => startFairleadIpvs(cluster, {}), [rolling, reused])
  for (const name of ['here-1', 'there-1'] as const) begin(name)
})
afterAll(async () => {
  for (const name of pods.keys()) end(name)
  await rig?.[Symbol.asyncDispose]()
})

test('while every endpoint is replaced, one after the other, no connection fails', async () => {
  await using load = new Load(rig, [
    { from: 'caller', to: at('cluster IP', rolling, port), family: 'ipv4' },
    { from: 'outside', to: at('node port', rolling, port), family: 'ipv4' },
    { from: 'outside', to: at('node port', rolling, port), family: 'ipv6' },
  ])
  await replace('here-1', 'here-2', ['here-2', 'there-1'])
  await replace('there-1', 'there-2', ['here-2', 'there-2'])
  await replace('here-2', 'here-3', ['here-3', 'there-2'])
  await load.stop()
  expect(load.failures).toEqual([])
  expect([...load.answers.keys()]).toEqual(expect.arrayContaining(['here-1', 'there-1', 'here-2', 'there-2', 'here-3']))

  /** As a deployment does it: the new pod serves before it is an endpoint, the old one after it was one. */
  async function replace(old: PodName, young: PodName, endpoints: readonly PodName[]): Promise<void> {
    begin(young)
    await loadGoesOn(load, 10)
    await rig.program([{ ...rolling, endpoints }, reused])
    await expect.poll(() => weights(rolling)[old], soon).toBe(0)
    expect(weights(rolling)).toMatchObject(Object.fromEntries(endpoints.map((pod) => [pod, 1])))
    await loadGoesOn(load, 10)
    end(old)
    await loadGoesOn(load, 10)
  }
})

test('a client that comes from the same port again gets an endpoint that lives, at once', async () => {
  begin('here-1')
  begin('here-4')
  const localPorts = Array.from({ length: 10 }, (_, n) => 20_000 + n)
  const clients = [
    { client: rig.cluster.host('caller'), to: addressOf(at('cluster IP', reused, port), 'ipv4') },
    { client: rig.cluster.host('outside'), to: addressOf(at('node port', reused, port), 'ipv4') },
  ]
  const askAll = async () => {
    const answers = new Set<string>()
    for (const { client, to } of clients)
      for (const localPort of localPorts) answers.add(await askFromPort(client, { ...to, localPort }))
    return [...answers]
  }
  expect(await askAll()).toEqual(['here-1'])
  await rig.program([rolling, { ...reused, endpoints: ['here-4'] }])
  await expect.poll(() => weights(reused), soon).toEqual({ 'here-1': 0, 'here-4': 1 })
  end('here-1')
  const before = clients.map(({ client }) => repeatedSyns(client))
  expect(await askAll()).toEqual(['here-4'])
  // Older kernels drop the first packet of such a connection, which costs the client a second.
  expect(clients.map(({ client }) => repeatedSyns(client))).toEqual(before)
})

test('the endpoint that lost all its connections that way is gone soon after', async () => {
  await expect.poll(() => weights(reused), { timeout: 180_000, interval: 1000 }).toEqual({ 'here-4': 1 })
})

function begin(name: PodName): void {
  pods.set(name, listenTcp(rig.cluster.host(name), name, port.target))
}

function end(name: PodName): void {
  pods.get(name)?.[Symbol.dispose]()
  pods.delete(name)
}

/** Resolves when so many more connections have come to an end, whatever end. */
async function loadGoesOn(load: Load, more: number): Promise<void> {
  const wanted = load.connections + more
  await expect.poll(() => load.connections, soon).toBeGreaterThanOrEqual(wanted)
}

function weights(service: ServiceFixture): Readonly<Record<string, number>> {
  return weightsOf(rig.cluster, plans.ipv4.clusterIP(service.index), port.port)
}
