/** For what runs inside the guest, which has one processor, and is slow. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  oxc: { target: 'es2022' },
  test: {
    include: ['tests/ebpf-guest/guest/*.guest.ts', 'tests/ebpf/*.test.ts', 'src/dataplane/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
})
