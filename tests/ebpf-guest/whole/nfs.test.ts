import { relayEbpfTests } from '../testing/relay-ebpf-tests.ts'

await relayEbpfTests({
  name: 'NFS at a cluster IP',
  files: ['tests/ebpf-guest/guest/nfs.guest.ts'],
  timeoutMs: 900_000,
})
