import { defineConfig } from 'vitest/config'

export default defineConfig({
  oxc: { target: 'es2022' },
  test: {
    include: ['tests/browser/**/*.test.ts'],
    pool: 'forks',
    // Each file has a browser of its own, which has processes enough for one core.
    maxWorkers: 2,
    // A guard against hanging, not a measure.
    testTimeout: 90_000,
    hookTimeout: 90_000,
  },
})
