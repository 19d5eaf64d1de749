/** The tests that mutants must not survive: those beside the code, without the ones that depend on chance or take long. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  oxc: { target: 'es2022' },
  test: {
    include: ['src/{core,net,api}/**/*.test.ts'],
    exclude: ['**/*.property.test.ts'],
    testNamePattern: /^(?!.*among a million)/,
    testTimeout: 30_000,
  },
})
