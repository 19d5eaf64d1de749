/** Compiles the native engine of the userspace mode: one call of the C compiler, no build system. */
import { execFile } from 'node:child_process'
import { mkdir, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const sources = fileURLToPath(new URL('../native/relay/', import.meta.url))
const compiler = process.env['CC'] ?? 'cc'
const flags = ['-std=c11', '-O2', '-Wall', '-Wextra', '-Wshadow', '-pthread']

export async function compileNativeRelay(program: string, more: readonly string[] = []): Promise<void> {
  const files = (await readdir(sources)).filter((name) => name.endsWith('.c')).map((name) => join(sources, name))
  await mkdir(dirname(program), { recursive: true })
  await promisify(execFile)(compiler, [...flags, ...more, '-o', program, ...files])
}
