/** Builds the web console into `dist/console`: one page, one script and one style sheet, named by their content. */
import { createHash } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const web = join(root, 'web')
const target = join(root, 'dist/console')

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
  outdir: target,
  logLevel: 'warning',
})

await rm(target, { recursive: true, force: true })
await mkdir(join(target, 'assets'), { recursive: true })
let page = await readFile(join(web, 'index.html'), 'utf8')
for (const { path, contents } of outputFiles) {
  const kind = path.endsWith('.css') ? 'css' : 'js'
  const hash = createHash('sha256').update(contents).digest('hex').slice(0, 12)
  const name = `assets/console-${hash}.${kind}`
  await writeFile(join(target, name), contents)
  page = page.replace(`console.${kind}`, name)
}
await writeFile(join(target, 'index.html'), page)
