/** Before the ebpf mode starts, the doctor asks the kernel for everything that the mode can use, and leaves nothing behind. */
import { existsSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { features } from '../../src/dataplane/ebpf/probes.ts'
import { EbpfPlace, fairleadEbpf } from '../packet/testing/fairlead-ebpf.ts'
import { limitedTo } from '../packet/testing/limited-to.ts'
import { withoutMounts } from '../packet/testing/without-mounts.ts'
import type { Examined } from './testing/sick-node.ts'
import { SickNode, sickNodeProblem } from './testing/sick-node.ts'

const problem = sickNodeProblem() ?? fairleadEbpf.missing()

describe.skipIf(problem !== undefined)(`the ebpf mode${problem === undefined ? '' : ` (skipped: ${problem})`}`, () => {
  test('on a healthy node every feature has a yes or a no, and each no says what is done without it', async () => {
    await using place = new EbpfPlace()
    await using node = new SickNode()
    const cgroups = join(node.folder, 'cgroups')
    node.mount(`mkdir ${cgroups} && mount -t cgroup2 none ${cgroups}`)
    const flags = [`--ebpf-cgroup=${join(cgroups, basename(place.cgroup.path))}`, `--ebpf-pins=${place.pins}`]
    const examined = await node.examine('--before-start', ...node.flags('ebpf'), ...flags)
    expect(examined.names.filter((name) => name.startsWith('ebpf-') && name !== 'ebpf-feature-missing')).toEqual([])
    expect(examined.exitCode).toBe(0)
    const answers = answersOf(examined)
    expect([...answers.keys()]).toEqual(features.map(({ title }) => title))
    const missing = features.filter(({ title }) => answers.get(title) !== 'yes')
    expect(missing.map(({ title }) => answers.get(title))).toEqual(missing.map(() => 'no'))
    expect(evidenceOf(examined, 'ebpf-feature-missing', 'what')).toEqual(
      missing.map(({ title, since, without }) => `The kernel lacks ${title} (Linux ${since}): ${without}.`),
    )
    expect(readdirSync(place.cgroup.path, { withFileTypes: true }).filter((entry) => entry.isDirectory())).toEqual([])
    expect(existsSync(place.pins)).toBe(false)
  })

  test('in a container without mounts of the node, it says what to mount, and has asked the kernel all the same', async () => {
    await using place = new EbpfPlace()
    await using node = new SickNode()
    node.namespace.useCgroup(place.cgroup)
    node.startedBy(...withoutMounts, ...limitedTo(['NET_ADMIN', 'BPF', 'PERFMON']))
    const examined = await node.examine('--before-start', ...node.flags('ebpf'))
    const [obstacles, ...others] = evidenceOf(examined, 'ebpf-unusable', 'evidence')
    expect(others).toEqual([])
    expect(obstacles?.split('\n')).toEqual([
      expect.stringContaining('/sys/fs/cgroup: it is the cgroup of this container, without pods in it'),
      expect.stringContaining('there is no BPF file system, nor can it be mounted (EPERM)'),
    ])
    const answers = answersOf(examined)
    expect([...answers.keys()]).toEqual(features.map(({ title }) => title))
    expect([...answers.values()]).not.toContain('not allowed')
  })
})

/** By title. */
function answersOf(examined: Examined): ReadonlyMap<string, string> {
  const [lines = ''] = evidenceOf(examined, 'ebpf-features', 'evidence')
  return new Map(
    lines.split('\n').map((line) => {
      const [, answer = '', title = line] = /^(yes|no|not allowed|unknown) +(.*) \(Linux [\d.]+\)$/.exec(line) ?? []
      return [title, answer]
    }),
  )
}

function evidenceOf({ findings }: Examined, wanted: string, field: 'what' | 'evidence'): readonly string[] {
  return findings.filter(({ name }) => name === wanted).map((finding) => finding[field])
}
