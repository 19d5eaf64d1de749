/** For the whole tier: one guest at a time. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  oxc: { target: 'es2022' },
  test: { include: ['tests/ebpf-guest/**/*.test.ts'], pool: 'forks', fileParallelism: false },
})
