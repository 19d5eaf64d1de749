/** A proxy that runs gets another configuration: it shows in packets, and no connection fails. */
import { expect, test, vi } from 'vitest'
import { families } from '../../src/net/ip.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { plans } from './testing/address-plan.ts'
import { ConfigVolume, configOf } from './testing/config-volume.ts'
import type { Cluster } from './testing/cluster.ts'
import { fairleadEbpf, startEbpfWith } from './testing/fairlead-ebpf.ts'
import { FairleadProcess, fairleadIptables, fairleadNftables } from './testing/fairlead.ts'
import { fairleadUserspace } from './testing/fairlead-userspace.ts'
import { chooseVariant } from './testing/iptables-variant.ts'
import { Load } from './testing/load.ts'
import { compareFlow } from './testing/observe.ts'
import type { ProxyMode, ProxySettings } from './testing/proxy.ts'
import { describeEach } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at, reaches, refused } from './testing/row.ts'
import type { Expectation, Source, Target } from './testing/row.ts'
import { flowsTo } from './testing/service-faults.ts'
import { givenService, nodeName } from './testing/service-fixture.ts'

const pods = ['here-1', 'there-1'] as const
const web = givenService('web', 1, { type: 'NodePort', endpoints: pods })
const others = [2, 3, 4, 5].map((index) => givenService(`other-${index}`, index, { endpoints: pods }))
/** Hooks have no share in it. */
const left = givenService('left', 6, {
  endpoints: pods,
  annotations: { 'fairlead.dev/socket-balancing': 'off' },
})
const second = at("node port on the node's second address", web)

const first: ProxySettings = { nodePortAddresses: families.map((family) => plans[family].nodeRange) }
const wide: ProxySettings = {
  nodePortAddresses: families.flatMap((family) => [plans[family].nodeRange, plans[family].secondNodeRange]),
  syncPeriod: '20s',
}

describeEach([fairleadNftables, fairleadIptables('nft'), fairleadEbpf, fairleadUserspace('nft')], (proxy) => {
  test('node ports open and close, masquerading changes, what is wrong changes nothing, and no connection fails', async () => {
    await using volume = await ConfigVolume.make(await configOf(proxy.mode, first))
    await using rig = await Rig.startWith(
      (cluster) => startWith(cluster, proxy.mode, volume.path),
      [web, left, ...others],
    )
    const applied = () => rig.proxy.log().match(/"configuration applied"/g)?.length ?? 0
    const becomes = (from: Source, to: Target, expectation: Expectation) =>
      vi.waitFor(async () => {
        for (const family of families) {
          const { observed, expected } = await compareFlow(rig, { from, to, family, expectation })
          expect(observed).toBe(expected)
        }
      }, aWhile)
    /** The userspace mode has another address of the node anyway, or the client's; and hooks masquerade nobody. */
    const seenFromPods = async (seenAs: 'client' | 'node') => {
      if (proxy.mode === 'userspace') return
      await becomes('caller', at('cluster IP', left), reaches(pods, seenAs))
      if (proxy.mode === 'ebpf') await becomes('caller', at('cluster IP', web), reaches(pods, 'client'))
    }
    const secondIsClosed = async () => {
      await becomes('outside', second, refused)
      await becomes('caller', second, refused)
    }
    const secondIsOpen = async () => {
      await becomes('outside', second, reaches(pods, 'node'))
      // Through the table it would be the node that the endpoints see.
      if (proxy.mode === 'ebpf') await becomes('caller', second, reaches(pods, 'client'))
    }
    await secondIsClosed()
    await seenFromPods('client')

    await using load = new Load(rig, flowsTo(web))
    await volume.write(await configOf(proxy.mode, wide))
    await secondIsOpen()
    await expect.poll(() => writtenBy(rig.proxy.log()).length, aWhile).toBe(families.length)
    for (const line of writtenBy(rig.proxy.log())) expect(line).toContain(onlyWhatDiffers[proxy.mode])

    await volume.write(await configOf(proxy.mode, { ...wide, masqueradeAll: true }))
    await expect.poll(applied, aWhile).toBe(2)
    await seenFromPods('node')

    await volume.write('mode: nonsense')
    await expect
      .poll(() => rig.proxy.log(), aWhile)
      .toContain('configuration file refused, the running configuration stays')
    await secondIsOpen()

    await volume.write(await configOf(proxy.mode, first))
    await expect.poll(applied, aWhile).toBe(3)
    await secondIsClosed()
    await seenFromPods('client')

    await load.stop()
    expect(load.failures).toEqual([])
    expect(load.connections).toBeGreaterThan(50)
  })
})

/** What a family writes when node ports open on one more address: one element, the last rules of one chain, one listener. */
const onlyWhatDiffers: Readonly<Record<string, string>> = {
  nftables: ' elements=1 ',
  ebpf: ' elements=1 ',
  iptables: ' filterRules=0 natRules=3 ',
  userspace: ' closed=0 ',
}

const aWhile = { timeout: 40_000, interval: 50 }

async function startWith(cluster: Cluster, mode: ProxyMode, config: string): Promise<FairleadProcess> {
  const flags = [`--config=${config}`, `--hostname-override=${nodeName}`]
  if (mode === 'ebpf') return startEbpfWith(cluster, flags)
  chooseVariant(cluster.node, 'nft')
  return new FairleadProcess(cluster, flags, await TemporaryFolder.make(), {})
}

/** What the syncs wrote that a change of the configuration asked for. */
function writtenBy(log: string): readonly string[] {
  return log.split('\n').filter((line) => line.includes('"synced"') && line.includes('the configuration file changed'))
}
