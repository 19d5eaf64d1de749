/** The web console as files: one page, one script and one style sheet, named by their content. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const web = fileURLToPath(new URL('../web', import.meta.url))

/** By name: `index.html`, `assets/…`. */
export async function bundleConsole(): Promise<ReadonlyMap<string, Uint8Array>> {
  const { outputFiles } = await build({
    entryPoints: { console: join(web, 'main.tsx') },
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'eof',
    outdir: web,
    logLevel: 'warning',
  })
  const files = new Map<string, Uint8Array>()
  let page = await readFile(join(web, 'index.html'), 'utf8')
  for (const { path, contents } of outputFiles) {
    const kind = path.endsWith('.css') ? 'css' : 'js'
    const hash = createHash('sha256').update(contents).digest('hex').slice(0, 12)
    const name = `assets/console-${hash}.${kind}`
    files.set(name, contents)
    page = page.replace(`console.${kind}`, name)
  }
  return files.set('index.html', Buffer.from(page))
}
