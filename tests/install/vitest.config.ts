import { defineConfig } from 'vitest/config'
import { packageHere } from './testing/built-package.ts'

/** Those that show the commands of the program, whatever it was made into. */
const commands = ['daemon-cluster', 'demo-traffic', 'explain', 'log-file', 'one-shot-commands', 'trace-collector']
/** Serves connections by programs that lie beside the executable, and ends sockets by a thread whose program is in it. */
const packets = ['ebpf-stale-sockets']

export default defineConfig({
  oxc: { target: 'es2022' },
  test: {
    include: [
      'tests/install/**/*.test.ts',
      ...commands.map((name) => `tests/e2e/${name}.test.ts`),
      ...packets.map((name) => `tests/packet/${name}.test.ts`),
    ],
    globalSetup: ['tests/install/testing/needs-package.ts'],
    env: { FAIRLEAD_EXECUTABLE: packageHere.executable },
    pool: 'forks',
    maxWorkers: '100%',
    testTimeout: 120_000,
    hookTimeout: 180_000,
  },
})
