import { expect, test } from 'vitest'
import { memoryPlaceFiles, tmpfs, unified } from '../../../dataplane/ebpf/testing/memory-place-files.ts'
import type { MemoryPlaces } from '../../../dataplane/ebpf/testing/memory-place-files.ts'
import type { Reach } from '../../../dataplane/sock-diag/sockets.ts'
import { whyPodsAreOutOfReach } from './reach-of-pods.ts'

const machine: MemoryPlaces = { links: { '/proc/self/ns/pid': 'pid:[4026531836]' } }
const chart: MemoryPlaces = {
  mountinfo: `${unified}97 24 0:25 /netns /run/netns ro master:5 - tmpfs tmpfs rw\n`,
  folders: { '/run/netns': tmpfs },
}

test.each([
  ['a node that has just booted', machine, 'alone', 'nothing'],
  ['a chart on a node that has just booted', chart, 'alone', 'nothing'],
  ['a node with pods', machine, 'others', 'nothing'],
  ['a chart on a node with pods, whose processes are seen and hide theirs', chart, 'hidden', 'nothing'],
  ['a container without anything of the node', {}, 'alone', 'mount /run/netns with mountPropagation HostToContainer'],
  ['a machine whose processes hide theirs', machine, 'hidden', 'give CAP_SYS_PTRACE'],
  ['a security module', chart, 'closed', 'a security module forbids it'],
  ['a unit that forbids it', machine, 'forbidden', 'RestrictNamespaces='],
] as const satisfies readonly (readonly [string, MemoryPlaces, Reach, string])[])(
  'sockets of pods can be ended, or a sentence says why not: %s',
  async (_, places, reach, expected) => {
    const why = await whyPodsAreOutOfReach(memoryPlaceFiles(places), { reach: async () => reach }, (wanted) => wanted)
    expect(why ?? 'nothing').toContain(expected)
  },
)

test('a process that hides from everybody says nothing about those of pods', async () => {
  const hidden = { reach: async (): Promise<Reach> => 'hidden' }
  expect(await whyPodsAreOutOfReach(memoryPlaceFiles(machine), hidden, () => [])).toBeUndefined()
})
