import { describe, expect, test } from 'vitest'
import { layoutVersion } from '../../../backends/ebpf/layout.ts'
import { ipv4Backend } from '../../../backends/ebpf/testing/ipv4-backend.ts'
import { cgroup, MemoryNode } from '../../../backends/ebpf/testing/memory-node.ts'
import { parseDaemonCommandLine } from '../../../config/daemon/parse-daemon-command-line.ts'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { testView } from '../../../core/testing/routes.ts'
import { BpfError } from '../../../dataplane/ebpf/bpf-error.ts'
import { MemoryBpf } from '../../../dataplane/ebpf/memory-bpf.ts'
import { memoryHost } from '../../host/testing/memory-host.ts'
import { ebpfMachine, pins, placeFlags } from './testing/ebpf-machine.ts'
import { examineGround, unseenConnections, unseenPods } from './examine-ground.ts'

test('a cgroup that was found, and whose programs do not see this process, is the wrong one', () => {
  expect(() => unseenConnections({ cgroup: '' }, '/sys/fs/cgroup', false)).toThrow(
    "programs at /sys/fs/cgroup do not see what this process connects to, so it is not the cgroup of this node: mount the host's /sys/fs/cgroup into the container, or name the cgroup with --ebpf-cgroup",
  )
})

test('this process may be outside of a cgroup that was named', () => {
  expect(unseenConnections({ cgroup: '/pods' }, '/pods', false)).toEqual([
    'what Fairlead itself connects to is left to nftables: it is not in --ebpf-cgroup, or programs do not work there',
  ])
  expect(unseenConnections({ cgroup: '/pods' }, '/pods', true)).toEqual([])
})

test('a cgroup that was named without pods in it is told of', () => {
  const sentence = 'what pods connect to is left to nftables: the kubelet has no folder for pods in --ebpf-cgroup'
  expect(unseenPods({ cgroup: '/system.slice' }, false)).toEqual([sentence])
  expect(unseenPods({ cgroup: '/node' }, true)).toEqual([])
  expect(unseenPods({ cgroup: '' }, false)).toEqual([])
})

describe('where another version has pinned', () => {
  const [other, own] = [`${pins}/${layoutVersion + 1}`, `${pins}/${layoutVersion}`]

  test('links that can be opened, a start takes them over', async () => {
    const { bpf, examine } = await nodeWith(layoutVersion + 1)
    expect(await examine()).toMatchObject({ cgroup })
    await bpf.unpin(other)
    bpf[Symbol.dispose]()
  })

  test.each(['not-permitted', 'unsupported', 'refused'] as const)(
    'links that cannot be opened (%s), a start goes on without them',
    async (reason) => {
      const { bpf, examine } = await nodeWith(layoutVersion + 1)
      bpf.openLink = async (path) => {
        throw new BpfError(reason, `cannot open the link at ${path}`)
      }
      expect(await examine()).toMatchObject({ cgroup })
    },
  )

  test('something else in the place of a link, its program is no stranger', async () => {
    const { bpf, examine } = await nodeWith(layoutVersion + 1)
    // Of the process that still runs.
    using _held = await bpf.openLink(`${other}/links/connect4`)
    await bpf.unpin(`${other}/links/connect4`)
    await bpf.pin((await bpf.openMap(`${other}/maps/slots`))!, `${other}/links/connect4`)
    expect(await examine()).toMatchObject({ cgroup })
  })

  test('nothing at a hook, a program of Fairlead there is one', async () => {
    const { bpf, examine } = await nodeWith(layoutVersion + 1)
    using _held = await bpf.openLink(`${other}/links/connect4`)
    await bpf.unpin(`${other}/links/connect4`)
    await expect(examine()).rejects.toThrow('"fl_connect4" of Fairlead at connect4 of /cgroup is not pinned')
  })

  test('links of this version that may not be opened are in the way: they cannot be replaced', async () => {
    const { bpf, examine } = await nodeWith(layoutVersion)
    bpf.openLink = async (path) => {
      throw new BpfError('not-permitted', `cannot open the link at ${path}`)
    }
    await expect(examine()).rejects.toThrow(`cannot open the link at ${own}/links/`)
  })

  /** After a run of a process whose tables are laid out as the number says. */
  async function nodeWith(layoutNumber: number) {
    const node = new MemoryNode()
    const clock = new FakeClock()
    const backend = ipv4Backend({ balancer: node.newBalancer(clock, { families: ['ipv4'], layoutNumber }), clock })
    await backend.sync(testView(), { full: true, keys: [], causes: [] }, never)
    const bpf = new MemoryBpf(node.kernel)
    const host = memoryHost(ebpfMachine(bpf))
    const parsed = parseDaemonCommandLine(placeFlags, 'linux')
    if (parsed.kind !== 'run') throw new Error('these flags are right')
    return { bpf, examine: () => examineGround(host, parsed.options.ebpf, never) }
  }
})

const never = new AbortController().signal
