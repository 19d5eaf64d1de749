/** Whether the mode notices at its start that its programs would do nothing. */
import { dirname } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { builtObject, missingForObject } from '../../src/backends/ebpf/testing/built-object.ts'
import { seesOwnConnections } from '../../src/cli/modes/ebpf/self-test.ts'
import { attachTypes } from '../../src/dataplane/ebpf/bpf.ts'
import type { ProgramImage } from '../../src/dataplane/ebpf/program-image.ts'
import { KernelSite, missingForBpf } from '../../src/dataplane/ebpf/testing/kernel-site.ts'
import { describeUnless } from '../packet/testing/proxies.ts'
import { JoinedCgroup } from './testing/joined-cgroup.ts'
import { programsHere } from './testing/programs-here.ts'

const problem = missingForObject === '' ? await missingForBpf() : `not found: ${missingForObject}`

describeUnless(problem, 'the self-test at the start', () => {
  let site: KernelSite
  let cgroup: string
  let programs: readonly ProgramImage[]
  beforeAll(async () => {
    site = await KernelSite.open()
    cgroup = site.makeCgroup('self-test')
    programs = (await programsHere(site.bpf, await builtObject())).hooks
  })
  afterAll(() => site[Symbol.dispose]())
  const see = (images = programs) => seesOwnConnections({ bpf: site.bpf, cgroup, programs: images })
  const attached = async () =>
    (await Promise.all(attachTypes.map((type) => site.bpf.attached(cgroup, type)))).flat().length

  test('programs see this process if it is in their cgroup, and leave nothing behind', async () => {
    using _joined = new JoinedCgroup(cgroup, dirname(cgroup))
    expect(await see()).toBe(true)
    expect(await attached()).toBe(0)
  })

  test('and not otherwise', async () => {
    expect(await see()).toBe(false)
    expect(await attached()).toBe(0)
  })

  test('a program that is there and does nothing is found out', async () => {
    using _joined = new JoinedCgroup(cgroup, dirname(cgroup))
    // r0 = 1; exit
    const idle = Buffer.from('b7000000010000009500000000000000', 'hex')
    expect(await see(programs.map((image) => ({ ...image, instructions: idle, mapLoads: [] })))).toBe(false)
  })
})
