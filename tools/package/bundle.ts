/** Puts all of Fairlead's code into texts: the program, the programs of its threads, and the web console. */
import { join } from 'node:path'
import { build } from 'esbuild'
import type { BuildOptions, Plugin } from 'esbuild'
import { bundleConsole } from '../bundle-console.ts'
import { lineTable } from './line-table.ts'
import type { LineTable } from './line-table.ts'
import { root } from './places.ts'

export interface Bundle {
  readonly main: string
  readonly lines: LineTable
  readonly relayWorker: string
  readonly namespaceWorker: string
  /** The files of the web console by name, as base64. */
  readonly console: Readonly<Record<string, string>>
}

const executable = join(root, 'tools/package/executable')

export async function bundle(version: string): Promise<Bundle> {
  const common: BuildOptions = {
    bundle: true,
    write: false,
    platform: 'node',
    target: 'node24',
    // Not the file: a module that is found by the plugin below has none, and which way finds it first is chance.
    tsconfigRaw: { compilerOptions: { alwaysStrict: true } },
    outdir: root,
    // Lines and names stay: they are what a log line and a stack trace have to say.
    sourcemap: 'external',
    legalComments: 'none',
    logLevel: 'warning',
    logOverride: { 'empty-import-meta': 'silent' },
  }
  const main = await build({
    ...common,
    entryPoints: [join(executable, 'main.ts')],
    // Node.js starts an embedded program as CommonJS.
    format: 'cjs',
    define: { FAIRLEAD_VERSION: JSON.stringify(version), 'import.meta.url': 'ownUrl' },
    banner: { js: 'const ownUrl = require("node:url").pathToFileURL(process.execPath).href;' },
    plugins: [ownFiles],
  })
  const relayWorker = await build({
    ...common,
    entryPoints: [join(root, 'src/dataplane/relay/threads/relay-worker.ts')],
    format: 'esm',
  })
  const namespaceWorker = await build({
    ...common,
    entryPoints: [join(root, 'src/dataplane/sock-diag/namespace-worker.ts')],
    format: 'esm',
    define: { 'import.meta.url': 'ownUrl' },
    banner: { js: 'import { pathToFileURL } from "node:url"; const ownUrl = pathToFileURL(process.execPath).href;' },
    plugins: [ownFiles],
  })
  const code = textOf(main, '.js')
  return {
    main: code,
    lines: lineTable(code, textOf(main, '.js.map')),
    relayWorker: textOf(relayWorker, '.js'),
    namespaceWorker: textOf(namespaceWorker, '.js'),
    console: Object.fromEntries(
      [...(await bundleConsole())].map(([name, content]) => [name, Buffer.from(content).toString('base64')]),
    ),
  }
}

/** Exchanges the modules that look for files beside the code, or at the names of files. */
const ownFiles: Plugin = {
  name: 'own-files',
  setup(bundler) {
    bundler.onResolve({ filter: /\/host\/own-files\.ts$/ }, () => ({ path: join(executable, 'own-files.ts') }))
    bundler.onResolve({ filter: /\/call-site\.ts$/ }, ({ importer }) =>
      importer.startsWith(executable) ? undefined : { path: join(executable, 'call-site.ts') },
    )
    bundler.onResolve({ filter: /^\.\/src\/static\.c?js$/ }, ({ importer }) =>
      importer.includes('/koffi/') ? { path: join(executable, 'koffi-binary.ts') } : undefined,
    )
  },
}

interface Bundled {
  readonly outputFiles?: readonly { readonly path: string; readonly text: string }[] | undefined
}

function textOf({ outputFiles = [] }: Bundled, ending: string): string {
  const file = outputFiles.find(({ path }) => path.endsWith(ending))
  if (file === undefined) throw new TypeError(`the bundler made no ${ending}`)
  return file.text
}
