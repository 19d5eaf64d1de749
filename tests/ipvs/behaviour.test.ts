import { relayGuestTests } from './testing/relay-guest-tests.ts'

const files = ['life.guest.ts', 'startup.guest.ts', 'address-claims.guest.ts', 'address-guard.guest.ts']
await relayGuestTests({ name: 'Fairlead on a kernel with IPVS', files, timeoutMs: 1_800_000 })
