/** For the tests that run inside the guest. The guest has one processor, and is slow. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  oxc: { target: 'es2022' },
  test: {
    include: ['tests/ipvs/guest/**/*.guest.ts'],
    pool: 'forks',
    maxWorkers: 1,
    maxConcurrency: 4,
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
})
