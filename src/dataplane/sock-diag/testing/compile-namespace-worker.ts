/** Worker threads run JavaScript: puts what the thread runs into one file, beside the packages that it needs. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const modules = fileURLToPath(new URL('../../../../node_modules/', import.meta.url))
const source = fileURLToPath(new URL('../namespace-worker.ts', import.meta.url))

export async function compileNamespaceWorker(): Promise<AsyncDisposable & { readonly program: URL }> {
  const cache = join(modules, '.cache')
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'fairlead-namespace-worker-'))
  const outfile = join(folder, 'namespace-worker.mjs')
  // Its library would leave a process, which stays in the cgroup of the test.
  const options = ['--bundle', '--platform=node', '--format=esm', '--packages=external', '--log-level=warning']
  await promisify(execFile)(join(modules, '.bin/esbuild'), [source, ...options, `--outfile=${outfile}`])
  return { program: pathToFileURL(outfile), [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) }
}
