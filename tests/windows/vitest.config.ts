import { defineConfig } from 'vitest/config'

export default defineConfig({
  oxc: { target: 'es2022' },
  test: {
    include: ['tests/windows/**/*.test.ts'],
    globalSetup: 'tests/windows/testing/global-setup.ts',
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 180_000,
    hookTimeout: 120_000,
  },
})
