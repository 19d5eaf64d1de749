/** Puts all of Fairlead's code into two texts: the program, and the program of the relay's threads. */
import { join } from 'node:path'
import { build } from 'esbuild'
import type { BuildOptions, Plugin } from 'esbuild'
import { root } from './places.ts'

export interface Bundle {
  readonly main: string
  readonly relayWorker: string
}

const executable = join(root, 'tools/package/executable')

export async function bundle(version: string): Promise<Bundle> {
  const common: BuildOptions = {
    bundle: true,
    write: false,
    platform: 'node',
    target: 'node24',
    // Names stay: they are what a stack trace has to say.
    minifySyntax: true,
    minifyWhitespace: true,
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
  return { main: textOf(main), relayWorker: textOf(relayWorker) }
}

/** Exchanges the two modules that look for files beside the code. */
const ownFiles: Plugin = {
  name: 'own-files',
  setup(bundler) {
    bundler.onResolve({ filter: /\/host\/own-files\.ts$/ }, () => ({ path: join(executable, 'own-files.ts') }))
    bundler.onResolve({ filter: /^\.\/src\/static\.c?js$/ }, ({ importer }) =>
      importer.includes('/koffi/') ? { path: join(executable, 'koffi-binary.ts') } : undefined,
    )
  },
}

function textOf({ outputFiles }: { readonly outputFiles?: readonly { readonly text: string }[] | undefined }): string {
  const [file] = outputFiles ?? []
  if (file === undefined) throw new TypeError('the bundler made no file')
  return file.text
}
