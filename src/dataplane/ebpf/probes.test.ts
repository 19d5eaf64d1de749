import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bpfErrorFrom } from './bpf-error.ts'
import type { MapSpec } from './bpf.ts'
import { MemoryBpf } from './memory-bpf.ts'
import { MemoryKernel } from './memory-kernel.ts'
import { features, probeFeatures } from './probes.ts'
import type { FeatureName, ProbeSubjects } from './probes.ts'
import { passingProgram } from './testing/images.ts'
import { KernelSite, missingForBpf } from './testing/kernel-site.ts'

const { signal } = new AbortController()
const config: MapSpec = { name: 'fl_config', type: 'array', keySize: 4, valueSize: 64, maxEntries: 1_000_000 }
const programs = [
  passingProgram('fl_connect4', 'connect4', 'config'),
  { ...passingProgram('fl_connect4_old', 'connect4', 'config'), section: 'cgroup/connect4-old' },
  passingProgram('fl_sendmsg4', 'sendmsg4', 'config'),
  passingProgram('fl_stale', 'iterator', 'config'),
]

function inMemory(): { readonly kernel: MemoryKernel; readonly subjects: ProbeSubjects } {
  const kernel = new MemoryKernel({ bpffs: '/bpffs', cgroups: ['/cgroup'] })
  const subjects: ProbeSubjects = {
    bpf: new MemoryBpf(kernel),
    cgroup: '/cgroup',
    programs,
    maps: { config },
    kernelRelease: '6.8.0-45-generic',
    ownNamespace: async () => 1n,
    tryDestroy: async () => {},
    makeFolder: async (path) => kernel.addCgroup(path),
    removeFolder: async (path) => kernel.removeCgroup(path),
  }
  return { kernel, subjects }
}

async function lacking(subjects: ProbeSubjects): Promise<Partial<Record<FeatureName, string>>> {
  const answers = await probeFeatures(subjects, signal)
  expect(answers.map(({ feature }) => feature)).toEqual(features)
  return Object.fromEntries(
    answers.filter(({ answer }) => answer !== 'yes').map(({ feature, answer }) => [feature.name, answer]),
  )
}

test('a new kernel has everything, and nothing is left behind', async () => {
  const { kernel, subjects } = inMemory()
  expect(await lacking(subjects)).toEqual({})
  expect(kernel.attached('/cgroup', 'connect4')).toEqual([])
  expect(() => kernel.attached(`/cgroup/fairlead-probe-${process.pid}`, 'connect4')).toThrow('there is no such folder')
})

test.each<[Parameters<MemoryKernel['lacks']['add']>[0], Partial<Record<FeatureName, string>>]>([
  ['connect4', { hooks: 'no', 'udp-hooks': 'no', links: 'no', programs: 'no', refusals: 'no' }],
  ['sendmsg6', { 'udp-hooks': 'no' }],
  ['getpeername6', { 'peer-names': 'no' }],
  ['socket-storage', { 'socket-storage': 'no' }],
  ['array', { 'shared-memory': 'no', programs: 'no', refusals: 'no', iterator: 'no' }],
  ['batches', { batches: 'no' }],
  ['iterator', { iterator: 'no' }],
  ['cgroup/connect4', { refusals: 'no' }],
  ['cgroup/connect4-old', { programs: 'no' }],
  ['cgroup/sendmsg4', { programs: 'no' }],
])('without %s, the features that need it are missing, and no others', async (missing, expected) => {
  const { kernel, subjects } = inMemory()
  kernel.lacks.add(missing)
  expect(await lacking(subjects)).toEqual(expected)
})

test('what the kernel says is the reason', async () => {
  const { subjects } = inMemory()
  const lack = Object.assign(new Error('cannot destroy sockets: no CONFIG_INET_DIAG_DESTROY'), {
    reason: 'unsupported',
  })
  const tryDestroy = () => Promise.reject(lack)
  const answers = await probeFeatures(
    { ...subjects, tryDestroy, ownNamespace: async () => undefined, kernelRelease: '5.15.0-112-generic' },
    signal,
  )
  const why = Object.fromEntries(
    answers.filter(({ answer }) => answer === 'no').map((each) => [each.feature.name, each.why]),
  )
  expect(why).toEqual({
    'namespace-cookies': 'the kernel does not tell (ENOPROTOOPT)',
    'socket-destruction': 'cannot destroy sockets: no CONFIG_INET_DIAG_DESTROY',
    'kernel-sockets': 'Linux 5.15.0-112-generic',
  })
})

test('where no cgroup can be made, links are tried when they are needed', async () => {
  const { subjects } = inMemory()
  const makeFolder = () => Promise.reject(new Error('EROFS: read-only file system'))
  expect(await lacking({ ...subjects, makeFolder })).toEqual({ links: 'unknown' })
})

const { ENOMEM, EMFILE, EPERM, EINVAL } = constants.errno

test.each([
  ['createMap', bpfErrorFrom(ENOMEM, 'create-map', 'create a map'), 'shared-memory', 'failed'],
  ['createMap', bpfErrorFrom(EINVAL, 'create-map', 'create a map'), 'shared-memory', 'no'],
  ['createMap', bpfErrorFrom(EPERM, 'create-map', 'create a map'), 'shared-memory', 'not allowed'],
  ['loadProgram', bpfErrorFrom(EMFILE, 'load-program', 'load it'), 'hooks', 'failed'],
  ['loadProgram', bpfErrorFrom(EINVAL, 'load-program', 'load it'), 'hooks', 'no'],
  ['attach', bpfErrorFrom(ENOMEM, 'attach', 'attach it'), 'links', 'failed'],
  // The kernel does not know the command.
  ['attach', bpfErrorFrom(EINVAL, 'attach', 'attach it'), 'links', 'no'],
  ['replace', bpfErrorFrom(EINVAL, 'replace', 'put another one there'), 'links', 'no'],
] as const)('where %s fails with "%s", the answer to %s is %s', async (method, error, name, expected) => {
  const { subjects } = inMemory()
  Object.assign(subjects.bpf, { [method]: () => Promise.reject(error) })
  const answers = await probeFeatures(subjects, signal)
  expect(answers.find(({ feature }) => feature.name === name)).toMatchObject({ answer: expected, why: error.message })
})

const missing = await missingForBpf()
describe.skipIf(missing !== undefined)(`on the kernel${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  let kernel: KernelSite
  beforeAll(async () => {
    kernel = await KernelSite.open()
  })
  afterAll(() => kernel[Symbol.dispose]())

  test('this kernel is asked about everything', async () => {
    const cgroup = kernel.makeCgroup('probes')
    const subjects: ProbeSubjects = {
      bpf: kernel.bpf,
      cgroup,
      programs,
      maps: { config },
      kernelRelease: readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim(),
      ownNamespace: async () => 1n,
      tryDestroy: async () => {},
    }
    const answers = await probeFeatures(subjects, signal)
    // Which are there depends on the kernel; those that this test file needs are.
    expect(answers.find(({ feature }) => feature.name === 'hooks')).toMatchObject({ answer: 'yes', why: '' })
    expect(answers.find(({ feature }) => feature.name === 'links')).toMatchObject({ answer: 'yes', why: '' })
    for (const { answer, why } of answers) expect([answer, why === '']).not.toEqual(['no', true])
  })
})
