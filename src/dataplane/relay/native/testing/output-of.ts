/** Runs a small C program that has files of the engine built into it. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'

const run = promisify(execFile)
const sources = fileURLToPath(new URL('../../../../../native/relay/', import.meta.url))

export async function outputOf(
  program: string,
  files: readonly string[],
  given: readonly string[] = [],
): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-engine-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const [source, built] = [join(directory, 'main.c'), join(directory, 'main')]
  await writeFile(source, program)
  const all = [source, ...files.map((name) => join(sources, name))]
  await run(process.env['CC'] ?? 'cc', ['-std=c11', '-O2', '-Wall', '-Wextra', `-I${sources}`, '-o', built, ...all])
  return (await run(built, given, { maxBuffer: 1 << 26 })).stdout
}
