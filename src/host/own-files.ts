/**
 * What belongs to Fairlead besides its code, where `npm run build` puts it. In the executable of `npm run package`,
 * tools/package/executable/own-files.ts takes the place of this file.
 */
import { existsSync, readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The native engine of the userspace mode. It may be missing. */
export const nativeRelay = fileURLToPath(
  new URL(`../native/${process.platform}-${process.arch}/fairlead-relay`, import.meta.url),
)

/** What to tell somebody whose native engine is missing. */
export const nativeRelayAdvice = '"npm run build:native" builds it'

/** The programs of the ebpf mode, one file for all processors. Nothing if they were not built. */
export function ebpfObject(): string | undefined {
  // Beside the compiled code; seen from the sources, where the build puts that.
  return ['../native/fairlead.bpf.o', '../../dist/native/fairlead.bpf.o']
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(path))
}

/** What to tell somebody whose programs are missing. */
export const ebpfObjectAdvice = '"npm run build:ebpf" builds it, with clang 14 or newer'

/** The program of the relay's threads. It exists once compiled, and not beside TypeScript sources. */
export function relayWorker(): URL | undefined {
  const program = new URL('../dataplane/relay/threads/relay-worker.js', import.meta.url)
  return existsSync(program) ? program : undefined
}

/** The program of the thread that enters network namespaces. It exists once compiled, and not beside TypeScript sources. */
export function namespaceWorker(): URL | undefined {
  // Beside the compiled code; seen from the sources, where the build puts that.
  return ['../dataplane/sock-diag/namespace-worker.js', '../../dist/dataplane/sock-diag/namespace-worker.js']
    .map((path) => new URL(path, import.meta.url))
    .find((path) => existsSync(path))
}

/** From package.json. */
export function fairleadVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

/** The page of the web console, by name: `index.html`, `assets/…`. Empty if it was not built. */
export async function consoleFiles(): Promise<ReadonlyMap<string, Uint8Array>> {
  // Beside the compiled code; seen from the sources, where the build puts that.
  const folder = ['../console', '../../dist/console']
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(join(path, 'index.html')))
  if (folder === undefined) return new Map()
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  const nameOf = (path: string) => relative(folder, path).split(sep).join('/')
  return new Map(await Promise.all(paths.map(async (path) => [nameOf(path), await readFile(path)] as const)))
}
