/** Programs of the machine that builds. Their names and errors are for the person who runs `npm run image`. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'

export async function runProgram(program: string, args: readonly string[], cwd?: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(program, args, {
      ...(cwd === undefined ? {} : { cwd }),
      maxBuffer: 64 << 20,
      env: { ...process.env, LC_ALL: 'C' },
    })
    return stdout
  } catch (error) {
    if (isMissing(error))
      throw new Error(`there is no program "${program}": it is part of Debian; install it`, { cause: error })
    throw error
  }
}

/** Runs a program whose output is too large to hold; it goes into the file. */
export async function runInto(file: string, program: string, args: readonly string[]): Promise<void> {
  const output = await open(file, 'w')
  try {
    const child = spawn(program, args, { stdio: ['ignore', output.fd, 'inherit'] })
    const [code] = (await once(child, 'exit')) as [number | null]
    if (code !== 0) throw new Error(`"${[program, ...args].join(' ')}" failed`)
  } finally {
    await output.close()
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT' && 'syscall' in error
}
