/** The ebpf mode beside a service mesh: a sidecar that takes what its pod sends, as those of Istio and Linkerd do, by `redirect`. */
import { expect, test } from 'vitest'
import { families } from '../../src/net/ip.ts'
import type { Family } from '../../src/net/ip.ts'
import { plans } from './testing/address-plan.ts'
import { listenTcp } from './testing/echo-server.ts'
import { fairleadEbpf, startEbpf } from './testing/fairlead-ebpf.ts'
import { missingPrograms } from './testing/iptables-variant.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import { givenService } from './testing/service-fixture.ts'

const web = givenService('web', 1, { endpoints: ['here-1'] })
const sidecarPort = 15_001
const redirectAll = `table inet mesh {
  chain output {
    type nat hook output priority -100
    oifname != "lo" meta l4proto tcp redirect to :${sidecarPort}
  }
}`

describeUnless(packetTestProblem(fairleadEbpf) ?? missingPrograms('conntrack'), 'a pod with a sidecar', () => {
  test('with the scope of the host, the sidecar is told the Service, and the node is served by hooks', async () => {
    await using rig = await startWithSidecar('--ebpf-scope=host')
    for (const family of families) {
      expect(await destinationsToldAt(rig, family)).toEqual([plans[family].clusterIP(web.index)])
      expect(await rig.ask('node', at('cluster IP', web), family, 10_000)).toMatchObject({
        answer: { answeredBy: 'here-1' },
      })
    }
  })

  test('with the scope of all, it is told the endpoint: hooks come first', async () => {
    await using rig = await startWithSidecar()
    for (const family of families)
      expect(await destinationsToldAt(rig, family)).toEqual([plans[family].hosts['here-1']])
  })
})

async function startWithSidecar(...flags: readonly string[]): Promise<Rig> {
  const rig = await Rig.startWith((cluster) => startEbpf(cluster, {}, flags), [web])
  rig.cluster.host('caller').run('nft', ['-f', '-'], { input: redirectAll })
  return rig
}

/** Connects to the Service, and says where the connections that the sidecar got were going, as the kernel tells it. */
async function destinationsToldAt(rig: Rig, family: Family): Promise<readonly (string | undefined)[]> {
  const pod = rig.cluster.host('caller')
  using _sidecar = listenTcp(pod, 'sidecar', sidecarPort)
  const outcome = await rig.ask('caller', at('cluster IP', web), family, 10_000)
  expect(outcome).toMatchObject({ answer: { answeredBy: 'sidecar' } })
  const tracked = pod.run('conntrack', ['-L', '-f', family, '-p', 'tcp', '--reply-port-src', `${sidecarPort}`])
  return tracked
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => / dst=(\S+)/.exec(line)?.[1])
}
