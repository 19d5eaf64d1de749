import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { bpfErrorFrom } from './bpf-error.ts'
import type { BpfCall, BpfReason } from './bpf-error.ts'

type ErrnoName = keyof typeof constants.errno

test.each<[BpfCall, ErrnoName | 'ENOTSUPP', BpfReason, string]>([
  ['other', 'ENOSYS', 'unsupported', 'this kernel has no bpf(2)'],
  ['other', 'EPERM', 'not-permitted', 'CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON, or CAP_SYS_ADMIN'],
  ['create-map', 'EPERM', 'not-permitted', 'seccomp profile forbids bpf(2)'],
  ['create-map', 'EINVAL', 'unsupported', 'does not know such maps'],
  ['create-map', 'EPERM', 'not-permitted', 'before Linux 5.11 it counts maps as locked memory'],
  ['load-program', 'EPERM', 'not-permitted', 'too old for this mode'],
  ['create-map', 'ENOMEM', 'no-memory', 'the memory limit of this cgroup is too low'],
  ['load-program', 'EINVAL', 'rejected', 'does not take the program'],
  ['load-program', 'EACCES', 'rejected', 'does not take the program'],
  ['attach', 'EPERM', 'in-use', 'attached exclusively'],
  ['attach', 'EBADF', 'no-cgroup2', 'not a folder of cgroup v2'],
  ['attach', 'EINVAL', 'refused', 'made for another attach type'],
  ['replace', 'ENOLINK', 'gone', 'detached, or its cgroup was removed'],
  ['pin', 'EPERM', 'no-bpffs', 'not in a BPF file system, or the name has a dot'],
  ['pin', 'EEXIST', 'exists', 'pinned there already'],
  ['open-pin', 'EACCES', 'not-permitted', 'belongs to root'],
  ['update', 'E2BIG', 'full', 'the map is full'],
  ['map-memory', 'ENOTSUPP', 'unsupported', 'made without the flag'],
  ['query', 'EBADF', 'no-cgroup2', 'not a folder of cgroup v2'],
  ['other', 'EIO', 'refused', 'the kernel refuses it'],
])('%s with %s is %s', (call, name, reason, sentence) => {
  const errno = name === 'ENOTSUPP' ? 524 : constants.errno[name]
  const error = bpfErrorFrom(errno, call, 'do this')
  expect(error).toMatchObject({ name: 'BpfError', reason, errno, done: 0 })
  expect(error.message).toMatch(/^cannot do this: /)
  expect(error.message).toContain(sentence)
  expect(error.message).toMatch(new RegExp(`\\(${name}\\)$`))
})
