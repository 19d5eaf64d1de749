/**
 * A pod of another node asks this one, which has no endpoint, and policy is Local: nobody may answer it, in no mode. With
 * `detectLocalMode: ClusterCIDR` kernel modes take it for a pod of their own and lead it on, but the answer goes straight
 * back to it, from an address that it does not know. A relay would have completed that connection.
 */
import { expect, test } from 'vitest'
import { families } from '../../src/net/ip.ts'
import { fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { fairleadIptables, fairleadNftables } from './testing/fairlead.ts'
import { fairleadUserspace } from './testing/fairlead-userspace.ts'
import { kubeProxyIptables } from './testing/kube-proxy.ts'
import { describeEach } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import { givenService } from './testing/service-fixture.ts'

const local = { type: 'NodePort', externalTrafficPolicy: 'Local' } as const
const elsewhere = givenService('elsewhere', 1, { ...local, endpoints: ['there-1'] })
const here = givenService('here', 2, { ...local, endpoints: ['here-1'] })
const silenceMs = 1500

describeEach(
  [kubeProxyIptables('nft'), fairleadIptables('nft'), fairleadNftables, fairleadEbpf, fairleadUserspace('nft')],
  (proxy) => {
    test('it gets an answer from an endpoint of this node only, a pod of this node from all', async () => {
      await using rig = await Rig.start(proxy, {}, [elsewhere, here])
      for (const family of families) {
        const outcome = await rig.ask('there-2', at('node port', elsewhere), family, silenceMs)
        expect(outcome).toEqual({ kind: 'silence' })
        expect(await rig.ask('there-2', at('node port', here), family, 10_000)).toMatchObject({
          kind: 'answer',
          answer: { answeredBy: 'here-1' },
        })
        expect(await rig.ask('caller', at('node port', elsewhere), family, 10_000)).toMatchObject({
          kind: 'answer',
          answer: { answeredBy: 'there-1' },
        })
      }
    })
  },
)
