import { defineConfig } from 'vitest/config'

export default defineConfig({
  // Node 20 has no `await using`; lower it the way the build does.
  oxc: { target: 'es2022' },
  test: {
    include: ['src/**/*.test.ts', 'tests/**/*.test.ts', 'tools/**/*.test.ts', 'web/**/*.test.ts'],
    exclude: ['**/node_modules/**', 'tests/browser/**', 'tests/cluster/**', 'tests/install/**', 'tests/windows/**'],
    pool: 'forks',
    // Vitest would leave one core to itself, but these tests wait for the kernel and for other processes more than they work.
    maxWorkers: '100%',
    // A guard against hanging, not a measure: on a machine that others use too, seconds become minutes.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
