import { constants } from 'node:os'

export type BpfReason =
  | 'unsupported'
  | 'not-permitted'
  | 'no-memory'
  | 'rejected'
  | 'in-use'
  | 'no-cgroup2'
  | 'no-bpffs'
  | 'gone'
  | 'exists'
  | 'full'
  | 'bad-object'
  | 'refused'

export class BpfError extends Error {
  override readonly name = 'BpfError'
  /**
   * `unsupported`: this kernel cannot do it. `rejected`: the kernel's verifier does not take the program. `gone`: the link
   * has no place any more. `bad-object`: the file with the programs is damaged, or was not made for Fairlead.
   */
  readonly reason: BpfReason
  /** Set if it was the kernel that refused. */
  readonly errno: number | undefined
  /** How many entries were written before the map was full. */
  readonly done: number

  constructor(reason: BpfReason, message: string, options: ErrorOptions & { errno?: number; done?: number } = {}) {
    super(message, options)
    this.reason = reason
    this.errno = options.errno
    this.done = options.done ?? 0
  }
}

/** For what one can do without: `opening.catch(undefinedIf('refused'))`. */
export function undefinedIf(...reasons: readonly BpfReason[]): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof BpfError) || !reasons.includes(error.reason)) throw error
  }
}

/** What was asked of the kernel. The same errno has another meaning in another call. */
export type BpfCall =
  | 'create-map'
  | 'map-memory'
  | 'load-program'
  | 'attach'
  | 'query'
  | 'replace'
  | 'pin'
  | 'open-pin'
  | 'update'
  | 'read'
  | 'other'

/** `doing` completes the sentence "cannot …". */
export function bpfErrorFrom(
  errno: number,
  call: BpfCall,
  doing: string,
  options: ErrorOptions & { readonly done?: number } = {},
): BpfError {
  const { reason, sentence } = meaningOf(errno, call)
  return new BpfError(reason, `cannot ${doing}: ${sentence} (${errnoName(errno)})`, { ...options, errno })
}

interface Meaning {
  readonly reason: BpfReason
  readonly sentence: string
}

const { EPERM, ENOENT, EBADF, EACCES, EEXIST, EINVAL, E2BIG, ENOMEM, ENOSYS, ENOLINK, ENOTDIR } = constants.errno
/** The kernel's own; C libraries do not know it. */
const ENOTSUPP = 524

function meaningOf(errno: number, call: BpfCall): Meaning {
  const special = byCall[call]?.get(errno) ?? anywhere.get(errno)
  return special ?? { reason: 'refused', sentence: 'the kernel refuses it' }
}

const rights =
  'give the container CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON, or CAP_SYS_ADMIN; or its seccomp profile forbids bpf(2)'
/** Before 5.11 maps and programs count as locked memory, of which root, too, has little. */
const rightsOrMemory = `${rights}; or the kernel is too old for this mode: before Linux 5.11 it counts maps as locked memory`

const anywhere: ReadonlyMap<number, Meaning> = new Map<number, Meaning>([
  [ENOSYS, { reason: 'unsupported', sentence: 'this kernel has no bpf(2)' }],
  [EPERM, { reason: 'not-permitted', sentence: rights }],
  [
    ENOMEM,
    {
      reason: 'no-memory',
      sentence: 'the memory limit of this cgroup is too low for it',
    },
  ],
])

const notShared: Meaning = {
  reason: 'unsupported',
  sentence: 'the map was made without the flag that lets memory be shared',
}
const noCgroup2: Meaning = { reason: 'no-cgroup2', sentence: 'this is not a folder of cgroup v2' }

const byCall: Readonly<Partial<Record<BpfCall, ReadonlyMap<number, Meaning>>>> = {
  'create-map': new Map<number, Meaning>([
    [EPERM, { reason: 'not-permitted', sentence: rightsOrMemory }],
    [EINVAL, { reason: 'unsupported', sentence: 'this kernel does not know such maps' }],
    [E2BIG, { reason: 'no-memory', sentence: 'it is too large' }],
  ]),
  'map-memory': new Map<number, Meaning>([
    [EINVAL, notShared],
    [ENOTSUPP, notShared],
  ]),
  'load-program': new Map<number, Meaning>([
    [EPERM, { reason: 'not-permitted', sentence: rightsOrMemory }],
    [EINVAL, { reason: 'rejected', sentence: 'the kernel does not take the program' }],
    [EACCES, { reason: 'rejected', sentence: 'the kernel does not take the program' }],
    [E2BIG, { reason: 'rejected', sentence: 'the program is too complex for this kernel' }],
  ]),
  attach: new Map<number, Meaning>([
    [EPERM, { reason: 'in-use', sentence: 'another program is attached exclusively here or in a cgroup above' }],
    [EBADF, noCgroup2],
    [ENOTDIR, noCgroup2],
    [ENOENT, { reason: 'no-cgroup2', sentence: 'there is no such folder' }],
    [
      EINVAL,
      { reason: 'refused', sentence: 'the program was made for another attach type, or the kernel lacks links' },
    ],
  ]),
  query: new Map<number, Meaning>([
    [EBADF, noCgroup2],
    [EINVAL, { reason: 'unsupported', sentence: 'this kernel has no such hook' }],
  ]),
  replace: new Map<number, Meaning>([
    [ENOLINK, { reason: 'gone', sentence: 'the link was detached, or its cgroup was removed' }],
  ]),
  pin: new Map<number, Meaning>([
    [EPERM, { reason: 'no-bpffs', sentence: 'the folder is not in a BPF file system, or the name has a dot' }],
    [EINVAL, { reason: 'no-bpffs', sentence: 'the folder is not in a BPF file system' }],
    [EEXIST, { reason: 'exists', sentence: 'something is pinned there already' }],
  ]),
  'open-pin': new Map<number, Meaning>([
    [EACCES, { reason: 'not-permitted', sentence: 'it belongs to root' }],
    [EPERM, { reason: 'not-permitted', sentence: 'it belongs to root' }],
    [EINVAL, { reason: 'no-bpffs', sentence: 'the file is not in a BPF file system' }],
  ]),
  update: new Map<number, Meaning>([[E2BIG, { reason: 'full', sentence: 'the map is full' }]]),
}

/** `ENOENT` for 2. */
export function errnoName(errno: number): string {
  if (errno === ENOTSUPP) return 'ENOTSUPP'
  return Object.entries(constants.errno).find(([, value]) => value === errno)?.[0] ?? `errno ${errno}`
}
