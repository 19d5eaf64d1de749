import { relayEbpfTests } from '../testing/relay-ebpf-tests.ts'

await relayEbpfTests({
  name: 'hooks on the kernel of a distribution',
  files: ['tests/ebpf/', 'src/dataplane/ebpf/bpf.test.ts', 'src/dataplane/sock-diag/sockets.test.ts'],
  timeoutMs: 3_600_000,
})
