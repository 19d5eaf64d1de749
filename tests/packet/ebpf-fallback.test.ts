/** A node on which the ebpf mode ran, and can run no more: with --ebpf-fallback the nftables mode takes its place. */
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { attachTypes } from '../../src/dataplane/ebpf/bpf.ts'
import { openBpf } from '../../src/dataplane/ebpf/open-bpf.ts'
import { attachOther } from '../../src/dataplane/ebpf/testing/attach-other.ts'
import type { OtherProgram } from '../../src/dataplane/ebpf/testing/attach-other.ts'
import type { EbpfProcess } from './testing/fairlead-ebpf.ts'
import { fairleadEbpf, startEbpf } from './testing/fairlead-ebpf.ts'
import { limitedTo } from './testing/limited-to.ts'
import { Load } from './testing/load.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { flowsTo, serviceFaults } from './testing/service-faults.ts'
import { clusterObjects, givenService, objectsOf } from './testing/service-fixture.ts'

const web = givenService('web', 1, { type: 'NodePort', endpoints: ['here-1', 'there-1'] })
const changed = { ...web, endpoints: ['here-3', 'there-2'] } as const
const cilium: OtherProgram = { name: 'cil_sock4_conne', attachType: 'connect4', sharing: 'shared' }
const soon = { timeout: 40_000, interval: 50 }

describeUnless(packetTestProblem(fairleadEbpf), 'with --ebpf-fallback, where the ebpf mode ran before', () => {
  test.each([
    { what: 'without CAP_BPF', starter: limitedTo(['NET_ADMIN']), others: [] },
    { what: 'without CAP_PERFMON', starter: limitedTo(['NET_ADMIN', 'BPF']), others: [] },
    { what: 'beside the balancer of another', starter: [], others: [cilium] },
  ])('the nftables mode serves alone $what', async ({ starter, others }) => {
    await using rig = await Rig.startWith((cluster) => startEbpf(cluster, {}), [web])
    const first = rig.proxy as EbpfProcess
    const { cgroup, pins } = first.place
    await using load = new Load(rig, flowsTo(web))
    await first.stop('SIGKILL')
    expect(await attachedTo(cgroup.path)).toHaveLength(attachTypes.length)
    for (const other of others) await attachOther(await openBpf(), cgroup.path, other)
    await first.apply([...clusterObjects, ...objectsOf(changed)])

    await using second = first.second(['--ebpf-fallback=nftables'], starter)
    second.run()
    const owner = new Rig(rig.cluster, second)
    await owner.program([changed])
    expect(second.log()).toContain('running the nftables mode instead of the ebpf mode, as --ebpf-fallback allows')
    await expect.poll(() => attachedTo(cgroup.path), soon).toEqual(others.map(({ name }) => name))
    await expect.poll(() => readdirSync(dirname(pins)), soon).not.toContain('fairlead')
    // Whoever still had the old tables would be led to endpoints of before.
    expect(await serviceFaults(owner, changed)).toEqual([])
    await load.stop()
    expect(load.failures).toEqual([])
  })
})

/** Of all programs, whoever they are of. */
async function attachedTo(cgroup: string): Promise<readonly (string | undefined)[]> {
  const bpf = await openBpf()
  const attached = await Promise.all(attachTypes.map((type) => bpf.attached(cgroup, type)))
  return attached.flat().map(({ name }) => name)
}
