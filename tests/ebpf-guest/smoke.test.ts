import { relayEbpfTests } from './testing/relay-ebpf-tests.ts'

await relayEbpfTests({
  name: 'the ebpf mode on the kernel of a distribution',
  files: ['tests/ebpf-guest/guest/smoke.guest.ts', 'tests/ebpf-guest/guest/whole-machine.guest.ts'],
  timeoutMs: 900_000,
})
