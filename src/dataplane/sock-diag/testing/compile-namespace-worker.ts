/** Worker threads run JavaScript: puts what the thread runs into one file, beside the packages that it needs. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const cache = fileURLToPath(new URL('../../../../node_modules/.cache/', import.meta.url))
const source = fileURLToPath(new URL('../namespace-worker.ts', import.meta.url))

export async function compileNamespaceWorker(): Promise<AsyncDisposable & { readonly program: URL }> {
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'fairlead-namespace-worker-'))
  const outfile = join(folder, 'namespace-worker.mjs')
  await build({ entryPoints: [source], outfile, bundle: true, platform: 'node', format: 'esm', packages: 'external' })
  return { program: pathToFileURL(outfile), [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) }
}
