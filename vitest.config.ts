import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  // Node 20 has no `await using`; lower it the way the build does.
  oxc: { target: 'es2022' },
  test: {
    include: ['src/**/*.test.ts', 'tests/**/*.test.ts', 'tools/**/*.test.ts', 'web/**/*.test.ts'],
    exclude: ['**/node_modules/**', 'tests/browser/**', 'tests/cluster/**', 'tests/install/**', 'tests/windows/**'],
    pool: 'forks',
    // These tests wait for the kernel, for other processes and for time: with one worker for each core, a third of the machine idles.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    // A guard against hanging, not a measure: on a machine that others use too, seconds become minutes.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
