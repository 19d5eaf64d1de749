/** For vitest inside Windows: the tests of the folders that must not care which system they run on. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const folders = [
  'net',
  'api',
  'core',
  'config',
  'host',
  'http',
  'kpng',
  'observe',
  'sources',
  'dataplane/hcn',
  'dataplane/netsh',
  'dataplane/owned-objects',
  'backends/kernelspace',
  'backends/userspace/windows',
  'cli/cleanup',
  'cli/daemon',
  'cli/service',
]

/** Files that need something of Unix. */
export const unixOnly: Readonly<Record<string, string>> = {
  'src/observe/profiling/heap-profile.test.ts': 'go tool pprof',
  'src/dataplane/netsh/netsh.test.ts': 'a C compiler',
  'src/cli/cleanup/real-cleanup.test.ts': 'the kernel of Linux',
  'src/cli/cleanup/remove-other-modes.test.ts': 'the kernel of Linux',
  'src/cli/service/log-to-file.test.ts': 'to remove a file that is open',
}

export default defineConfig({
  root: fileURLToPath(new URL('../../', import.meta.url)),
  oxc: { target: 'es2022' },
  test: {
    include: folders.map((folder) => `src/${folder}/**/*.test.ts`),
    exclude: Object.keys(unixOnly),
    pool: 'threads',
    maxWorkers: 2,
    // Loading the modules again for each file takes longer than the tests.
    isolate: false,
    // Wine on a busy machine is several times slower than Windows.
    testTimeout: 90_000,
    hookTimeout: 60_000,
  },
})
