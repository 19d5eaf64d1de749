/** Runs test files inside a guest that can run the ebpf mode, and makes each test of theirs a test here. */
import { mkdirSync } from 'node:fs'
import { missingForObject } from '../../../src/backends/ebpf/testing/built-object.ts'
import { chosenQemu } from '../../ipvs/testing/guest.ts'
import { relayGuestTests } from '../../ipvs/testing/relay-guest-tests.ts'
import type { GuestSuite, GuestTests } from '../../ipvs/testing/relay-guest-tests.ts'

/** Where tests write beside the packages, which nobody can do inside. */
const cache = 'node_modules/.cache'

const suite: GuestSuite = {
  folder: '.',
  config: 'tests/ebpf-guest/guest/vitest.config.ts',
  kernel: chosenQemu,
  memoryMb: 1536,
  preparation: [
    'mount -t cgroup2 cgroup2 /sys/fs/cgroup',
    'mount -t bpf bpf /sys/fs/bpf',
    `mount -t tmpfs tmpfs ${cache}`,
  ].join(' && '),
}

/** Files are named from the root of the project. */
export async function relayEbpfTests(tests: GuestTests): Promise<void> {
  mkdirSync(cache, { recursive: true })
  const problem = missingForObject === '' ? undefined : `not found: ${missingForObject}`
  return relayGuestTests({ problem, ...tests }, suite)
}
