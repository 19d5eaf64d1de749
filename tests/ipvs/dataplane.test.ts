import { relayGuestTests } from './testing/relay-guest-tests.ts'

await relayGuestTests({
  name: 'on a kernel with IPVS',
  files: ['dataplane.guest.ts', 'inspect.guest.ts'],
  timeoutMs: 1_200_000,
})
