import { relayGuestTests } from './testing/relay-guest-tests.ts'

await relayGuestTests('packets through IPVS', ['flows'], 600_000)
