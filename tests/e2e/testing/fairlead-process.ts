/** The real program in a process of its own, as its users start it. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'
import { deadlineMs } from './deadline.ts'

const program = fileURLToPath(new URL('../../../bin/fairlead.js', import.meta.url))

/** The install tier sets it: then these tests run with an executable that needs no Node.js, where there is none. */
export const installedExecutable = process.env['FAIRLEAD_EXECUTABLE']

export interface Ended {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface StartOptions {
  /** Added to those of the test. */
  readonly env?: Readonly<Record<string, string>>
  /** All that it can read from standard input. */
  readonly stdin?: string
  /** How many files the process may have open; needs prlimit. */
  readonly openFiles?: number
}

export class FairleadProcess implements AsyncDisposable {
  /** What it has written so far. */
  stdout = ''
  stderr = ''
  readonly #child: ChildProcess
  readonly #ended: Promise<Ended>
  readonly #killAtExit: () => void
  #hasClosed = false

  constructor(args: readonly string[], { env = {}, openFiles, stdin }: StartOptions = {}) {
    const command =
      installedExecutable === undefined ? [process.execPath, program, ...args] : [installedExecutable, ...args]
    // prlimit becomes what it starts, so signals and the process id are those of the program.
    const limited = openFiles === undefined ? command : ['prlimit', `--nofile=${openFiles}:${openFiles}`, ...command]
    const [executable = '', ...rest] = limited
    this.#child = spawn(executable, rest, {
      stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      env: { ...environment(), ...env },
    })
    this.#child.stdin?.end(stdin)
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text))
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text))
    this.#killAtExit = () => this.#child.kill('SIGKILL')
    // A test runner that is stopped half-way disposes of nothing.
    process.once('exit', this.#killAtExit)
    // "close" comes when all output has been read, "exit" may come before.
    this.#ended = new Promise((resolve) =>
      this.#child.once('close', (code, signal) => {
        this.#hasClosed = true
        resolve({ code, signal })
      }),
    )
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  send(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Waits until the program has written this to stdout or stderr; when it has ended it will not any more. */
  async says(what: string | RegExp): Promise<void> {
    const hasSaid = () => {
      const text = this.stdout + this.stderr
      return typeof what === 'string' ? text.includes(what) : what.test(text)
    }
    await vi.waitUntil(() => hasSaid() || this.#hasClosed, { timeout: deadlineMs, interval: 20 }).catch(() => {})
    if (!hasSaid()) throw new Error(`fairlead has not said ${String(what)}. It ${this.#state()}`)
  }

  /** Waits for the end of the process; it must come by itself, or by a signal that was sent before. */
  async ended(): Promise<Ended> {
    const timer = new AbortController()
    const tooLate = new Promise<never>((_, reject) => {
      const timeout = setTimeout(() => reject(new Error(`fairlead does not end. It ${this.#state()}`)), deadlineMs)
      timer.signal.addEventListener('abort', () => clearTimeout(timeout))
    })
    try {
      return await Promise.race([this.#ended, tooLate])
    } finally {
      timer.abort()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isRunning) this.send('SIGKILL')
    await this.#ended
    process.removeListener('exit', this.#killAtExit)
  }

  #state(): string {
    const isOver = this.isRunning ? 'is running' : `ended with code ${this.#child.exitCode}`
    return `${isOver} and wrote:\n${this.stdout}${this.stderr}`
  }
}

/** Runs the program to its end. */
export async function runFairlead(
  args: readonly string[],
  options: StartOptions = {},
): Promise<Ended & { stdout: string; stderr: string }> {
  await using fairlead = new FairleadProcess(args, options)
  const ended = await fairlead.ended()
  return { ...ended, stdout: fairlead.stdout, stderr: fairlead.stderr }
}

/** What vitest sets for itself would change what the program does, and a test in a pod must not find its cluster. */
function environment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, NODE_ENV: _env, KUBERNETES_SERVICE_HOST: _host, ...others } = process.env
  return installedExecutable === undefined ? others : { ...others, PATH: pathWithoutNode(others['PATH'] ?? '') }
}

function pathWithoutNode(path: string): string {
  return path
    .split(':')
    .filter((folder) => !existsSync(`${folder}/node`))
    .join(':')
}
