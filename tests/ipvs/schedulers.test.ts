import { relayGuestTests } from './testing/relay-guest-tests.ts'

const files = ['schedulers.guest.ts', 'behind-core.guest.ts']
await relayGuestTests({ name: 'schedulers of IPVS', files, timeoutMs: 1_800_000 })
