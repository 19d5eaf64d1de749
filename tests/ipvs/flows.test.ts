import { relayGuestTests } from './testing/relay-guest-tests.ts'

await relayGuestTests({ name: 'packets through IPVS', files: ['flows.guest.ts'], timeoutMs: 900_000 })
