import { relayGuestTests } from './testing/relay-guest-tests.ts'

await relayGuestTests({ name: 'a rollout through IPVS', files: ['rollout.guest.ts'], timeoutMs: 1_800_000 })
