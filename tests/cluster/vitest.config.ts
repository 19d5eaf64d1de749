import { defineConfig } from 'vitest/config'

export default defineConfig({
  oxc: { target: 'es2022' },
  test: {
    include: ['tests/cluster/**/*.test.ts'],
    pool: 'forks',
    // Each file starts an API server of its own: two at once on two cores only make both slow.
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 180_000,
  },
})
