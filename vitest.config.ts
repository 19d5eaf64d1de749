import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'

/**
 * Vitest begins with the largest files. Those that run a table of flows which lies elsewhere are tiny and take longest: at
 * the end, all workers but one would wait for them.
 */
class LongOnesFirst extends BaseSequencer {
  override async sort(...[files]: Parameters<BaseSequencer['sort']>): ReturnType<BaseSequencer['sort']> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: (typeof files)[number]) => /\/tests\/(ipvs|ebpf-guest|[^/]+\/flows\.)/.test(moduleId)
    return [...sorted.filter((file) => isLong(file)), ...sorted.filter((file) => !isLong(file))]
  }
}

export default defineConfig({
  // Node 20 has no `await using`; lower it the way the build does.
  oxc: { target: 'es2022' },
  test: {
    include: ['src/**/*.test.ts', 'tests/**/*.test.ts', 'tools/**/*.test.ts', 'web/**/*.test.ts'],
    exclude: [
      '**/node_modules/**',
      'tests/browser/**',
      'tests/cluster/**',
      'tests/ebpf-guest/whole/**',
      'tests/install/**',
      'tests/windows/**',
    ],
    pool: 'forks',
    // These tests wait for the kernel, for other processes and for time: with one worker for each core, a third of the machine idles.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    sequence: { sequencer: LongOnesFirst },
    // A guard against hanging, not a measure: on a machine that others use too, seconds become minutes.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
