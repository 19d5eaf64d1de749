import { relayGuestTests } from './testing/relay-guest-tests.ts'

await relayGuestTests({ name: 'goldens', files: ['goldens.guest.ts'], timeoutMs: 1_800_000 })
