/** The real program on a terminal of its own, as a person sees it. */
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { eventually } from './eventually.ts'

const program = fileURLToPath(new URL('../../../bin/fairlead.js', import.meta.url))

/** Undefined when there is a program that makes terminals; otherwise what to install. */
export const whyNoTerminal =
  spawnSync('script', ['-qec', 'true', '/dev/null'], { stdio: 'ignore' }).status === 0
    ? undefined
    : 'no script(1) of util-linux found; install bsdutils'

export class PseudoTerminal implements AsyncDisposable {
  /** Everything that came, with its control characters. */
  raw = ''
  readonly #script: ChildProcess
  readonly #closed: Promise<unknown>

  constructor(args: readonly string[], { columns, env = {} }: { columns: number; env?: Record<string, string> }) {
    const command = [process.execPath, program, ...args].map((word) => `'${word}'`).join(' ')
    const { NODE_OPTIONS: _options, NO_COLOR: _noColour, ...others } = process.env
    this.#script = spawn('script', ['-qfec', `stty cols ${columns} rows 50; exec ${command}`, '/dev/null'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...others, TERM: 'xterm', ...env },
    })
    this.#closed = once(this.#script, 'close')
    this.#script.stdout?.setEncoding('utf8').on('data', (text: string) => (this.raw += text))
  }

  /** What is left to read: each line as it was last written. */
  get lines(): readonly string[] {
    const lines = this.raw.replaceAll('\r\n', '\n').split('\n')
    return lines.map((line) => stripVTControlCharacters(line.split('\r\u001B[K').at(-1) ?? ''))
  }

  async says(text: string): Promise<void> {
    await eventually(() => {
      if (!this.raw.includes(text)) throw new Error(`the terminal does not show "${text}" but:\n${this.raw}`)
    })
  }

  async ended(): Promise<void> {
    await this.#closed
  }

  /** As somebody closes a window: the program behind hears of it by SIGHUP. */
  async close(): Promise<void> {
    this.#script.kill('SIGKILL')
    await this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#script.exitCode === null && this.#script.signalCode === null ? this.close() : Promise.resolve()
  }
}
