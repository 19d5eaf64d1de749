/** For vitest inside Windows: the tests of the folders that must not care which system they run on. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const folders = [
  'host',
  'cli/service',
  'sources/saved',
  'sources/kube/access',
  'net',
  'api',
  'core',
  'config',
  'kpng',
  'sources/file',
  'http',
  'observe',
  'dataplane/hcn',
  'dataplane/owned-objects',
]

/** Files that compare with a Unix program, and what they need of it. */
export const unixOnly: Readonly<Record<string, string>> = {
  'src/kpng/server/mutual-tls.test.ts': 'certificates of openssl',
  'src/kpng/server/tls-renewal.test.ts': 'certificates of openssl',
  'src/observe/profiling/heap-profile.test.ts': 'go tool pprof',
}

export default defineConfig({
  root: fileURLToPath(new URL('../../', import.meta.url)),
  oxc: { target: 'es2022' },
  test: {
    include: folders.map((folder) => `src/${folder}/**/*.test.ts`),
    exclude: Object.keys(unixOnly),
    pool: 'threads',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
