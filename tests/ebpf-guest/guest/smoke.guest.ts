/** The whole mode on the kernel of the guest: it starts, serves, names the Service as the peer, and leaves nothing behind. */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { attachTypes } from '../../../src/dataplane/ebpf/bpf.ts'
import { openBpf } from '../../../src/dataplane/ebpf/open-bpf.ts'
import { families, hostPort } from '../../../src/net/ip.ts'
import { ClientSocket } from '../../ebpf/testing/client-socket.ts'
import { plans } from '../../packet/testing/address-plan.ts'
import { fairleadEbpf } from '../../packet/testing/fairlead-ebpf.ts'
import type { EbpfProcess } from '../../packet/testing/fairlead-ebpf.ts'
import { fairleadProgram } from '../../packet/testing/fairlead.ts'
import { packetTestProblem } from '../../packet/testing/packet-test-problem.ts'
import { addressOf, Rig } from '../../packet/testing/rig.ts'
import { at } from '../../packet/testing/row.ts'
import { givenService, webPort } from '../../packet/testing/service-fixture.ts'
import type { PortFixture } from '../../packet/testing/service-fixture.ts'

const dnsPort: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: 53 }
const dns = givenService('dns', 1, { ports: [webPort, dnsPort], endpoints: ['here-1'] })
const nobody = givenService('nobody', 2, { ports: [webPort] })

let rig: Rig
beforeAll(async () => {
  const problem = packetTestProblem(fairleadEbpf)
  if (problem !== undefined) throw new Error(`nothing may be skipped here: ${problem}`)
  rig = await Rig.start(fairleadEbpf, {}, [dns, nobody])
})
afterAll(() => rig?.[Symbol.asyncDispose]())

describe.each(families)('%s', (family) => {
  const client = () => rig.cluster.host('caller')
  const placeOf = (port: PortFixture) => {
    const { ip, port: number } = addressOf(at('cluster IP', dns, port), family)
    return hostPort(ip, number)
  }

  test('a TCP connection reaches the endpoint from the address of the pod, and has the Service as its peer', async () => {
    using socket = ClientSocket.tcp(client(), family)
    expect(socket.connect(placeOf(webPort))).toBe('ok')
    expect(socket.peer).toBe(placeOf(webPort))
    expect(await socket.read()).toMatchObject({ answeredBy: 'here-1', sawSource: plans[family].hosts.caller })
  })

  test('a UDP socket reaches it with and without connect, and is answered by the Service', async () => {
    using loose = ClientSocket.udp(client(), family)
    expect(loose.send('who are you?', placeOf(dnsPort))).toBe('ok')
    expect(await loose.receive()).toMatchObject({ from: placeOf(dnsPort), answer: { answeredBy: 'here-1' } })
    using connected = ClientSocket.udp(client(), family)
    expect(connected.connect(placeOf(dnsPort))).toBe('ok')
    expect(connected.peer).toBe(placeOf(dnsPort))
    expect(connected.send('who are you?')).toBe('ok')
    expect(await connected.receive()).toMatchObject({ from: placeOf(dnsPort), answer: { answeredBy: 'here-1' } })
  })

  test('a connection to a Service without endpoints is refused', () => {
    using socket = ClientSocket.tcp(client(), family)
    const { ip, port } = addressOf(at('cluster IP', nobody), family)
    expect(socket.connect(hostPort(ip, port))).toBe('ECONNREFUSED')
  })

  test('a client elsewhere is served by nftables', async () => {
    const outcome = await rig.ask('outside', at('cluster IP', dns), family, 60_000)
    expect(outcome).toMatchObject({ kind: 'answer', answer: { answeredBy: 'here-1' } })
  })
})

test('--cleanup leaves no program and no pin', async () => {
  const { place } = rig.proxy as EbpfProcess
  const bpf = await openBpf()
  const attached = async () =>
    (await Promise.all(attachTypes.map((type) => bpf.attached(place.cgroup.path, type)))).flat().length
  expect(await attached()).toBe(attachTypes.length)
  await rig.proxy.stop('SIGTERM')
  expect(await attached()).toBe(attachTypes.length)
  const flags = [fairleadProgram, '--cleanup', `--ebpf-pins=${place.pins}`]
  const cleaning = rig.cluster.node.start(process.execPath, flags, process.env)
  const [complaints] = await Promise.all([text(cleaning.stderr), text(cleaning.stdout), once(cleaning, 'close')])
  expect([cleaning.exitCode, complaints]).toEqual([0, expect.any(String)])
  expect(await attached()).toBe(0)
  expect(existsSync(place.pins)).toBe(false)
})
