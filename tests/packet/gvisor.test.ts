/** A pod of gVisor in the ebpf mode: hooks cannot see its sockets, so nftables serves it. */
import { release } from 'node:os'
import { expect, test } from 'vitest'
import { families } from '../../src/net/ip.ts'
import { plans } from './testing/address-plan.ts'
import type { Answer } from './testing/echo-server.ts'
import { fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { fetchFrom } from './testing/fetch-from.ts'
import type { HttpAnswer } from './testing/fetch-from.ts'
import { GvisorPod, gvisorProblem } from './testing/gvisor-pod.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import { addressOf, Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import { givenService, webPort } from './testing/service-fixture.ts'
import type { PortFixture } from './testing/service-fixture.ts'

const dnsPort: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: 53 }
const dns = givenService('dns', 1, { ports: [webPort, dnsPort], endpoints: ['here-1'] })

interface Reached {
  readonly peer: string
  readonly answer: Answer
}

/** Asks each place in turn, and prints who the peer seemed to be and what it said. */
function client(places: readonly { readonly protocol: string; readonly ip: string; readonly port: number }[]): string {
  return `
    const { createSocket } = require('node:dgram')
    const { connect } = require('node:net')
    const ask = ({ protocol, ip, port }) => new Promise((resolve, reject) => {
      if (protocol === 'TCP') {
        let answer = ''
        const socket = connect({ host: ip, port }, () => {
          const peer = socket.remoteAddress
          socket.setEncoding('utf8').on('data', (data) => (answer += data))
          socket.once('end', () => resolve({ peer, answer: JSON.parse(answer) }))
        }).once('error', reject)
      } else {
        const socket = createSocket(ip.includes(':') ? 'udp6' : 'udp4')
        const again = setInterval(() => socket.send('who are you?', port, ip), 500)
        socket.once('message', (data, { address }) => {
          clearInterval(again)
          socket.close()
          resolve({ peer: address, answer: JSON.parse(String(data)) })
        })
        socket.send('who are you?', port, ip)
      }
    })
    const run = async () => {
      const reached = []
      for (const place of ${JSON.stringify(places)}) reached.push(await ask(place))
      console.log(JSON.stringify({ kernel: require('node:os').release(), reached }))
    }
    run()`
}

describeUnless(packetTestProblem(fairleadEbpf) ?? (await gvisorProblem()), 'a pod of gVisor', () => {
  test('is served by nftables, beside pods that hooks serve', async () => {
    await using rig = await Rig.start(fairleadEbpf, {}, [dns])
    const translated = async () => {
      const { body } = (await fetchFrom(rig.cluster.node, '127.0.0.1', 10_249, '/metrics', 10_000)) as HttpAnswer
      return [...body.matchAll(/^fairlead_socket_choices_total{result="translated".*} (\d+)$/gm)].map(([, count]) =>
        Number(count),
      )
    }
    await using pod = await GvisorPod.of(rig.cluster, 'caller')
    const before = await translated()
    const questions = families.flatMap((family) =>
      [webPort, dnsPort].map((port) => ({
        family,
        protocol: port.protocol,
        ...addressOf(at('cluster IP', dns, port), family),
      })),
    )
    const { kernel, reached } = JSON.parse(await pod.run(client(questions))) as {
      readonly kernel: string
      readonly reached: readonly Reached[]
    }
    expect(kernel).not.toBe(release())
    expect(kernel).toContain('gvisor')
    expect(reached).toEqual(
      questions.map(({ family, ip }) => ({
        peer: ip,
        answer: expect.objectContaining({ answeredBy: 'here-1', sawSource: plans[family].hosts.caller }) as unknown,
      })),
    )
    expect(await translated()).toEqual(before)
    for (const family of families)
      expect(await rig.ask('here-2', at('cluster IP', dns), family, 10_000)).toMatchObject({ kind: 'answer' })
    expect(await translated()).toEqual(before.map((count) => count + 1))
  })
})
