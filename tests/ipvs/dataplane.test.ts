import { relayGuestTests } from './testing/relay-guest-tests.ts'

await relayGuestTests('on a kernel with IPVS', ['dataplane'], 120_000)
