import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { families } from '../../src/net/ip.ts'
import type { Family } from '../../src/net/ip.ts'
import { plans } from './testing/address-plan.ts'
import { podPorts } from './testing/cluster.ts'
import { fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { compareFlow } from './testing/observe.ts'
import { allProxies, describeEach } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at, reaches } from './testing/row.ts'
import { SctpEar, sendInit } from './testing/sctp-init.ts'
import { givenService } from './testing/service-fixture.ts'
import type { PortFixture } from './testing/service-fixture.ts'

const pods = ['here-1', 'there-1'] as const
const tcp: PortFixture = { name: 'tcp', protocol: 'TCP', port: 53, target: podPorts.dnsTcp }
const udp: PortFixture = { name: 'udp', protocol: 'UDP', port: 53, target: podPorts.dnsUdp }
const sctp: PortFixture = { name: 'sctp', protocol: 'SCTP', port: 53, target: 9053 }
const service = givenService('all', 1, { ports: [tcp, udp, sctp], endpoints: pods })

describeEach([...allProxies, fairleadEbpf], (proxy) => {
  test('TCP, UDP and SCTP on one port lead to their own targets', async () => {
    await using rig = await Rig.start(proxy, {}, [service])
    for (const family of families) {
      expect(await whoHears(rig, family)).toEqual(pods.map((pod) => `${pod}:${sctp.target}`))
      for (const port of [tcp, udp]) {
        const expectation = reaches(pods, 'client')
        const { observed, expected } = await compareFlow(rig, {
          from: 'caller',
          to: at('cluster IP', service, port),
          family,
          expectation,
        })
        expect(observed).toBe(expected)
      }
    }
  })
})

/** Where first packets of SCTP arrive, after enough of them to meet every endpoint. */
async function whoHears({ cluster }: Rig, family: Family): Promise<readonly string[]> {
  const ears = pods.map((pod) => ({ pod, ear: new SctpEar(cluster.host(pod), family) }))
  const heard = new Set<string>()
  const [from, to] = [plans[family].hosts.caller, plans[family].clusterIP(service.index)]
  for (let n = 0; n < 400 && heard.size < pods.length; n++) {
    // With each port a new connection. What is heard late counts all the same.
    sendInit(cluster.host('caller'), family, { ip: from, port: 20_000 + n }, { ip: to, port: sctp.port })
    await sleep(10)
    for (const { pod, ear } of ears) {
      const port = ear.hear()
      if (port !== undefined) heard.add(`${pod}:${port}`)
    }
  }
  for (const { ear } of ears) ear[Symbol.dispose]()
  return [...heard].sort()
}
