/** The web console as files: one page, and its script, style sheet and licences, named by their content. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join, parse } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const web = fileURLToPath(new URL('../web', import.meta.url))

/** By name: `index.html`, `assets/…`. */
export async function bundleConsole(): Promise<ReadonlyMap<string, Uint8Array>> {
  const { outputFiles, packages } = await bundle()
  const texts = { path: 'licenses.txt', contents: Buffer.from(await licences(packages)) }
  const files = new Map<string, Uint8Array>()
  let page = await readFile(join(web, 'index.html'), 'utf8')
  for (const { path, contents } of [...outputFiles, texts]) {
    const { name, ext } = parse(path)
    const hash = createHash('sha256').update(contents).digest('hex').slice(0, 12)
    const named = `assets/${name}-${hash}${ext}`
    files.set(named, contents)
    page = page.replace(`"/${name}${ext}"`, `"/${named}"`)
  }
  return files.set('index.html', Buffer.from(page))
}

/** Packages of others whose code is in it: they are installed for development, and shipped all the same. */
export async function packagesInConsole(): Promise<readonly string[]> {
  return (await bundle()).packages
}

async function bundle() {
  const { outputFiles, metafile } = await build({
    entryPoints: { console: join(web, 'main.tsx') },
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    outdir: web,
    logLevel: 'warning',
  })
  const inputs = Object.keys(metafile.inputs).flatMap(
    (path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [],
  )
  return { outputFiles, packages: [...new Set(inputs)].sort() }
}

async function licences(packages: readonly string[]): Promise<string> {
  const texts = await Promise.all(
    packages.map(async (name) => {
      const read = (file: string) => readFile(join(web, '../node_modules', name, file), 'utf8')
      const { version } = JSON.parse(await read('package.json')) as { version: string }
      return `${name} ${version}\n\n${(await read('LICENSE')).trim()}\n`
    }),
  )
  return texts.join('\n\n')
}
