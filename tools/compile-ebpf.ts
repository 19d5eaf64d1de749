/** Compiles the programs of the ebpf mode: one call of clang. The result is the same on every machine, and for every one. */
import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))
const oldestClang = 14

const flags = [
  '-target',
  'bpfel',
  // Atomic operations that return what was there before: Linux 5.12.
  '-mcpu=v3',
  '-std=gnu11',
  '-O2',
  '-Wall',
  '-Wextra',
  '-Wshadow',
  '-Werror',
  // With these the loader can say which line the kernel refused. No path of this machine is among them.
  '-gline-tables-only',
  '-fdebug-compilation-dir=.',
]

/** Throws an error that says what is missing. */
export async function compileEbpf(object: string, clang = process.env['CLANG'] ?? 'clang'): Promise<void> {
  await checkVersion(clang)
  await mkdir(dirname(object), { recursive: true })
  await promisify(execFile)(clang, [...flags, '-c', 'native/ebpf/fairlead.bpf.c', '-o', object], { cwd: root })
}

async function checkVersion(clang: string): Promise<void> {
  const answer = await promisify(execFile)(clang, ['--version']).catch((cause: unknown) => {
    throw new Error(`${clang} does not run: install clang ${oldestClang} or newer`, { cause })
  })
  const version = Number(/clang version (\d+)/.exec(answer.stdout)?.[1])
  if (!(version >= oldestClang)) throw new Error(`${clang} is older than version ${oldestClang}`)
}
