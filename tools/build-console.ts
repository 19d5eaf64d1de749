/** Builds the web console into `dist/console`. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleConsole } from './bundle-console.ts'

const target = fileURLToPath(new URL('../dist/console', import.meta.url))

const files = await bundleConsole()
await rm(target, { recursive: true, force: true })
await mkdir(join(target, 'assets'), { recursive: true })
for (const [name, content] of files) await writeFile(join(target, name), content)
