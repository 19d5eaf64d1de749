/** Two nodes on one kernel, as kind has them: each has a network, a cgroup and pins of its own, and translates only for itself. */
import { expect, test } from 'vitest'
import { families } from '../../src/net/ip.ts'
import type { Family } from '../../src/net/ip.ts'
import { fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { fetchFrom } from './testing/fetch-from.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import { givenService } from './testing/service-fixture.ts'

/** The same cluster IP, port and node port on both. */
const webOf = (pod: 'here-1' | 'here-2') => givenService('web', 1, { type: 'NodePort', endpoints: [pod] })

describeUnless(packetTestProblem(fairleadEbpf), 'two nodes on one kernel', () => {
  test('each leads its clients to its own endpoints, and counts only them', async () => {
    await using one = await Rig.start(fairleadEbpf, {}, [webOf('here-1')])
    await using other = await Rig.start(fairleadEbpf, {}, [webOf('here-2')])
    const nodes = [
      { rig: one, pod: 'here-1', neighbour: other },
      { rig: other, pod: 'here-2', neighbour: one },
    ] as const
    for (const { rig, pod, neighbour } of nodes)
      for (const family of families)
        for (const from of ['caller', 'node'] as const)
          for (const door of ['cluster IP', 'node port'] as const) {
            const before = await Promise.all([translatedBy(rig, family), translatedBy(neighbour, family)])
            expect(await rig.ask(from, at(door, webOf(pod)), family, 10_000)).toMatchObject({
              kind: 'answer',
              answer: { answeredBy: pod },
            })
            const after = await Promise.all([translatedBy(rig, family), translatedBy(neighbour, family)])
            expect(after).toEqual([before[0] + 1, before[1]])
          }
  })
})

/** How often the programs of this node have led a socket to an endpoint. */
async function translatedBy(rig: Rig, family: Family): Promise<number> {
  const answer = await fetchFrom(rig.cluster.node, '127.0.0.1', 10_249, '/metrics', 10_000)
  const text = typeof answer === 'object' ? answer.body : answer
  const name = { ipv4: 'IPv4', ipv6: 'IPv6' }[family]
  const line = new RegExp(`^fairlead_socket_choices_total{result="translated",ip_family="${name}"} (\\d+)$`, 'm')
  const [, count] = line.exec(text) ?? []
  if (count === undefined) throw new Error(`the proxy does not tell what its programs did:\n${text}`)
  return Number(count)
}
