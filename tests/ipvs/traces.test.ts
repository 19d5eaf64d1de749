import { existsSync } from 'node:fs'
import { programPath } from '../cluster/testing/programs.ts'
import { relayGuestTests } from './testing/relay-guest-tests.ts'

// The guest cannot build anything: it only reads this machine's files.
const problem = existsSync(await programPath('jaeger'))
  ? undefined
  : 'Jaeger is not built: "npx tsx tests/cluster/build.ts jaeger"'
await relayGuestTests({ name: 'traces in Jaeger', files: ['traces.guest.ts'], timeoutMs: 900_000, problem })
