/** The stand-in program of tests/windows, built for this machine: a real process with its addresses in a folder. */
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { processExec, type Exec } from '../../exec/exec.ts'

const source = fileURLToPath(new URL('../../../../tests/windows/stand-in/netsh.c', import.meta.url))

const compiler = process.env['CC'] ?? 'cc'

/** Undefined: nothing is missing. */
export function missingForStandIn(): string | undefined {
  const { error } = spawnSync(compiler, ['--version'], { stdio: 'ignore' })
  return error === undefined ? undefined : `there is no C compiler "${compiler}"`
}

export interface StandInMachine {
  readonly exec: Exec
  put(file: string, text?: string): Promise<void>
  /** Arguments of each call. */
  calls(): Promise<readonly (readonly string[])[]>
}

export class StandInNetsh implements AsyncDisposable {
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async build(): Promise<StandInNetsh> {
    const folder = await mkdtemp(join(tmpdir(), 'fairlead-netsh-'))
    const warnings = ['-Wall', '-Wextra', '-Werror']
    await promisify(execFile)(compiler, ['-O1', ...warnings, '-o', join(folder, 'netsh'), source])
    return new StandInNetsh(folder)
  }

  async machine(): Promise<StandInMachine> {
    const state = await mkdtemp(join(this.#folder, 'machine-'))
    const env = { FAIRLEAD_NETSH_FOLDER: state }
    return {
      exec: (program, args, options) => processExec(join(this.#folder, program), args, { ...options, env }),
      put: (file, text = '') => writeFile(join(state, file), text),
      async calls() {
        const lines = (await readFile(join(state, 'calls.log'), 'utf8')).trimEnd().split('\n')
        return lines.map((line) => line.split('\t'))
      },
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return rm(this.#folder, { recursive: true })
  }
}
