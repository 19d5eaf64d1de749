/** Programs of others at the same hooks: with some the ebpf mode cannot run, or should not without being told so. */
import { expect, test } from 'vitest'
import type { OtherProgram } from '../../src/dataplane/ebpf/testing/attach-other.ts'
import { attachOther } from '../../src/dataplane/ebpf/testing/attach-other.ts'
import { attachTypes } from '../../src/dataplane/ebpf/bpf.ts'
import { openBpf } from '../../src/dataplane/ebpf/open-bpf.ts'
import { Cluster } from './testing/cluster.ts'
import type { EbpfProcess } from './testing/fairlead-ebpf.ts'
import { fairleadEbpf, startEbpf } from './testing/fairlead-ebpf.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { serviceFaults } from './testing/service-faults.ts'
import { clusterObjects, givenService, objectsOf } from './testing/service-fixture.ts'
import { endsByItself } from './testing/upgrade.ts'

const web = givenService('web', 1, { type: 'NodePort', endpoints: ['here-1', 'there-1'] })
const cilium: OtherProgram = { name: 'cil_sock4_conne', attachType: 'connect4', sharing: 'shared' }
const alone: OtherProgram = { name: 'guard_sendmsg6', attachType: 'sendmsg6', sharing: 'exclusive' }
const harmless: OtherProgram = { name: 'kmesh_connect', attachType: 'connect6', sharing: 'shared' }
const soon = { timeout: 40_000, interval: 50 }

describeUnless(packetTestProblem(fairleadEbpf), 'the ebpf mode beside programs of others', () => {
  test.each([
    {
      other: cilium,
      flags: [],
      sentence: /"cil_sock4_conne" of Cilium at connect4 of \S+ balances at the same sockets: .*--ebpf-beside-others/,
    },
    {
      other: alone,
      flags: ['--ebpf-beside-others'],
      sentence:
        /"guard_sendmsg6" at sendmsg6 of \S+ leaves no room for other programs: detach it, or choose another mode/,
    },
  ])('it names $other.name and ends, and leaves nothing behind', async ({ other, flags, sentence }) => {
    using cluster = new Cluster()
    await using proxy = await startBeside(cluster, other, flags)
    await proxy.apply([...clusterObjects, ...objectsOf(web)])
    await endsByItself(proxy)
    const [last = ''] = proxy.log().trimEnd().split('\n').reverse()
    expect(last).toContain('"command failed"')
    expect(last.replaceAll('\\"', '"')).toMatch(sentence)
    expect(await attachedTo(proxy)).toEqual([other.name])
    expect(cluster.node.run('nft', ['list', 'tables'])).toBe('')
  })

  test('it serves beside a balancer when it may, and beside others it does so unasked and names them', async () => {
    for (const [other, flags] of [
      [cilium, ['--ebpf-beside-others']],
      [harmless, []],
    ] as const) {
      await using rig = await Rig.startWith((cluster) => startBeside(cluster, other, flags), [web])
      expect(await serviceFaults(rig, web)).toEqual([])
      const told = new RegExp(`another program runs at the same sockets.*at="?${other.attachType}"?.*${other.name}`)
      await expect.poll(() => rig.proxy.log(), soon).toMatch(told)
      expect(await attachedTo(rig.proxy as EbpfProcess)).toHaveLength(attachTypes.length + 1)
    }
  })
})

async function startBeside(cluster: Cluster, other: OtherProgram, flags: readonly string[]): Promise<EbpfProcess> {
  const proxy = await startEbpf(cluster, {}, flags)
  await attachOther(await openBpf(), proxy.place.cgroup.path, other)
  return proxy
}

/** Of all programs, whoever they are of. */
async function attachedTo({ place }: EbpfProcess): Promise<readonly (string | undefined)[]> {
  const bpf = await openBpf()
  const attached = await Promise.all(attachTypes.map((type) => bpf.attached(place.cgroup.path, type)))
  return attached.flat().map(({ name }) => name)
}
