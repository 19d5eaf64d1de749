import { relayGuestTests } from './testing/relay-guest-tests.ts'

await relayGuestTests({ name: 'packets through IPVS', files: ['flows.guest.ts'], timeoutMs: 1_800_000 })
