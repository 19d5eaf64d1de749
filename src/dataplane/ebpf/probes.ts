/** What this kernel can do for the programs at sockets, found out by trying. Nothing is attached to a cgroup that is in use. */
import { mkdir, rmdir } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import type { BpfError } from './bpf-error.ts'
import { attachTypes } from './bpf.ts'
import type { AttachType, Bpf, BpfMap, MapSpec } from './bpf.ts'
import { keepsAddressesOfKernelSockets } from './kernel-release.ts'
import type { ProgramImage } from './program-image.ts'

export type FeatureName =
  | 'hooks'
  | 'udp-hooks'
  | 'socket-storage'
  | 'shared-memory'
  | 'links'
  | 'programs'
  | 'batches'
  | 'refusals'
  | 'peer-names'
  | 'iterator'
  | 'namespace-cookies'
  | 'socket-destruction'
  | 'kernel-sockets'

export interface Feature {
  readonly name: FeatureName
  readonly title: string
  /** The Linux that had it first. Distributions have it earlier: that is why it is tried. */
  readonly since: string
  /** Without it: nothing works (`needed`), or something is done in another way. */
  readonly isNeeded: boolean
  readonly without: string
}

/**
 * `not allowed`: this process lacks a right, so nobody knows what the kernel has. `failed`: so does it after an attempt that failed for
 * another reason, such as too little memory. `unknown`: it could not be tried here. `why` says what the kernel answered.
 */
export interface FeatureAnswer {
  readonly feature: Feature
  readonly answer: 'yes' | 'no' | 'not allowed' | 'failed' | 'unknown'
  readonly why: string
}

export const features: readonly Feature[] = [
  needed('hooks', 'programs at the sockets of a cgroup (CONFIG_CGROUP_BPF)', '4.17'),
  needed('udp-hooks', 'programs at connect, sendmsg and recvmsg in both families', '5.2'),
  needed('socket-storage', 'memory of programs in each socket', '5.3'),
  needed('shared-memory', 'maps in shared memory', '5.5'),
  needed('links', 'links, which keep a program at its place', '5.7'),
  needed('programs', "all of Fairlead's programs", '5.12'),
  {
    name: 'batches',
    title: 'many entries in one call',
    since: '5.6',
    isNeeded: false,
    without: 'entries are written one by one',
  },
  {
    name: 'refusals',
    title: 'refusing a connection at once (bpf_set_retval)',
    since: '5.18',
    isNeeded: false,
    without: 'connections to Services without endpoints are refused by the packet path',
  },
  {
    name: 'peer-names',
    title: 'programs at getpeername',
    since: '5.8',
    isNeeded: false,
    without: 'getpeername shows the endpoint and not the Service',
  },
  {
    name: 'iterator',
    title: 'listing the memory of sockets (CONFIG_DEBUG_INFO_BTF)',
    since: '5.9',
    isNeeded: false,
    without: 'connected UDP is left to the packet path',
  },
  {
    name: 'namespace-cookies',
    title: 'telling network namespaces apart (SO_NETNS_COOKIE)',
    since: '5.14',
    isNeeded: false,
    without: 'scope "host", node ports on loopback and connected UDP are left to the packet path',
  },
  {
    name: 'socket-destruction',
    title: 'destroying UDP sockets (CONFIG_INET_UDP_DIAG, CONFIG_INET_DIAG_DESTROY)',
    since: '4.9',
    isNeeded: false,
    without: 'connected UDP is left to the packet path',
  },
  {
    name: 'kernel-sockets',
    title: 'sockets of the kernel keep the address that they were given',
    since: '6.6',
    isNeeded: false,
    without: 'NFS and SMB mounts at a Service hang when its endpoint goes',
  },
]

function needed(name: FeatureName, title: string, since: string): Feature {
  return { name, title, since, isNeeded: true, without: 'the ebpf mode cannot run' }
}

export interface ProbeSubjects {
  readonly bpf: Bpf
  /** Below it an empty cgroup is made and removed. Undefined: there is none to do that in. */
  readonly cgroup: string | undefined
  /** What shall be loaded, and the maps by the names that the programs have for them. */
  readonly programs: readonly ProgramImage[]
  readonly maps: Readonly<Record<string, MapSpec>>
  /** Such as `6.8.0-45-generic`. */
  readonly kernelRelease: string
  /** Undefined: the kernel does not tell. */
  readonly ownNamespace: () => Promise<bigint | undefined>
  /** Rejects if it cannot. */
  readonly tryDestroy: (signal: AbortSignal) => Promise<void>
  readonly makeFolder?: (path: string) => Promise<unknown>
  readonly removeFolder?: (path: string) => Promise<unknown>
}

/** In the order of `features`. */
export async function probeFeatures(subjects: ProbeSubjects, signal: AbortSignal): Promise<readonly FeatureAnswer[]> {
  const answers: FeatureAnswer[] = []
  for (const feature of features) {
    signal.throwIfAborted()
    answers.push({ feature, ...(await answerOf(() => tries[feature.name](subjects, signal))) })
  }
  return answers
}

type Answer = Pick<FeatureAnswer, 'answer' | 'why'>
type Try = (subjects: ProbeSubjects, signal: AbortSignal) => Promise<Answer | void>

async function answerOf(attempt: () => Promise<Answer | void>): Promise<Answer> {
  try {
    return (await attempt()) ?? { answer: 'yes', why: '' }
  } catch (error) {
    return { answer: meaningOf(error), why: (error as Error).message }
  }
}

/** Of a BpfError, or of a SocketsError, which has the same reasons. */
function meaningOf(error: unknown): FeatureAnswer['answer'] {
  const { reason, errno } = error as Partial<Pick<BpfError, 'reason' | 'errno'>>
  if (reason === 'not-permitted') return 'not allowed'
  // EINVAL without a better explanation: the kernel does not know the command.
  const isClear = reason === 'unsupported' || reason === 'rejected' || errno === constants.errno.EINVAL
  return isClear ? 'no' : 'failed'
}

/** One that returns is a yes; what one throws says whether it is a no. */
const tries: Readonly<Record<FeatureName, Try>> = {
  hooks: (subjects) => tryHooks(subjects, ['connect4']),
  'udp-hooks': (subjects) =>
    tryHooks(
      subjects,
      attachTypes.filter((type) => !type.startsWith('getpeername')),
    ),
  'socket-storage': ({ bpf }) =>
    tryMap(bpf, { name: 'fl_probe', type: 'socket-storage', keySize: 4, valueSize: 64, maxEntries: 0 }),
  'shared-memory': ({ bpf }) =>
    tryMap(bpf, { name: 'fl_probe', type: 'array', keySize: 4, valueSize: 64, maxEntries: 1 }),
  links: tryLinks,
  programs: (subjects) =>
    tryPrograms(subjects, ({ attachType, section }) => attachType !== 'iterator' && !isReplaceable(section)),
  async batches({ bpf }) {
    return (await bpf.hasBatches()) ? undefined : { answer: 'no', why: 'the kernel refuses a batch' }
  },
  refusals: (subjects) => tryPrograms(subjects, ({ section }) => isReplaceable(section)),
  'peer-names': (subjects) => tryHooks(subjects, ['getpeername4', 'getpeername6']),
  async iterator(subjects) {
    using _program = await subjects.bpf.loadProgram(trivialProgram('iterator'), new Map())
    await tryPrograms(subjects, ({ attachType }) => attachType === 'iterator')
  },
  async 'namespace-cookies'({ ownNamespace }) {
    return (await ownNamespace()) === undefined
      ? { answer: 'no', why: 'the kernel does not tell (ENOPROTOOPT)' }
      : undefined
  },
  'socket-destruction': ({ tryDestroy }, signal) => tryDestroy(signal),
  async 'kernel-sockets'({ kernelRelease }) {
    const why = `Linux ${kernelRelease}`
    return { answer: keepsAddressesOfKernelSockets(kernelRelease) ? 'yes' : 'no', why }
  },
}

/** `cgroup/connect4-old` does what `cgroup/connect4` does on an older kernel: one of both is enough. */
const isReplaceable = (section: string): boolean => /^cgroup\/connect[46]$/.test(section)

function trivialProgram(attachType: AttachType | 'iterator'): ProgramImage {
  // r0 = 1; exit
  const instructions = Buffer.from('b7000000010000009500000000000000', 'hex')
  return {
    name: 'fl_probe',
    section: '',
    attachType,
    license: 'Apache-2.0',
    instructions,
    mapLoads: [],
    sourceLines: [],
  }
}

async function tryHooks({ bpf }: ProbeSubjects, hooks: readonly AttachType[]): Promise<void> {
  for (const hook of hooks) {
    using _program = await bpf.loadProgram(trivialProgram(hook), new Map())
  }
}

async function tryMap(bpf: Bpf, spec: MapSpec): Promise<void> {
  using _map = await bpf.createMap(spec)
}

/** Loads them with maps of the same shape, which are small: the kernel looks at the shape. */
async function tryPrograms(
  { bpf, programs, maps }: ProbeSubjects,
  isTried: (image: ProgramImage) => boolean,
): Promise<void> {
  const mostEntries = 16
  const made = new Map<string, BpfMap>()
  const toRelease: Disposable[] = []
  const keep = <H extends Disposable>(handle: H): H => {
    toRelease.push(handle)
    return handle
  }
  try {
    for (const [name, spec] of Object.entries(maps))
      made.set(name, keep(await bpf.createMap({ ...spec, maxEntries: Math.min(spec.maxEntries, mostEntries) })))
    for (const image of programs.filter(isTried)) keep(await bpf.loadProgram(image, made))
  } finally {
    for (const handle of toRelease) handle[Symbol.dispose]()
  }
}

async function tryLinks(subjects: ProbeSubjects): Promise<Answer | void> {
  const { bpf, cgroup, makeFolder = mkdir, removeFolder = rmdir } = subjects
  if (cgroup === undefined) return { answer: 'unknown', why: 'there is no cgroup to try it in' }
  const scratch = join(cgroup, `fairlead-probe-${process.pid}`)
  try {
    await makeFolder(scratch)
  } catch (error) {
    return { answer: 'unknown', why: `no empty cgroup can be made to try it: ${(error as Error).message}` }
  }
  try {
    using one = await bpf.loadProgram(trivialProgram('connect4'), new Map())
    using other = await bpf.loadProgram(trivialProgram('connect4'), new Map())
    using link = await bpf.attach(one, scratch)
    await bpf.replace(link, other)
  } finally {
    await removeFolder(scratch)
  }
}
