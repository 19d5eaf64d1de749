/** A program that the tests start and end: whatever it is wrapped in, its last child is the one that counts. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { vi } from 'vitest'

const deadlineMs = 90_000

export class StartedProgram implements AsyncDisposable {
  /** What it has written so far. */
  output = ''
  readonly #child: ChildProcess
  readonly #ended: Promise<number | null>
  #hasEnded = false

  constructor(program: string, args: readonly string[], stdin = '') {
    this.#child = spawn(program, args, { stdio: 'pipe' })
    this.#child.stdin?.end(stdin)
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text))
    this.#ended = new Promise((resolve) =>
      this.#child.once('close', (code) => {
        this.#hasEnded = true
        resolve(code)
      }),
    )
  }

  async says(what: RegExp): Promise<void> {
    const isDone = () => what.test(this.output) || this.#hasEnded
    await vi.waitUntil(isDone, { timeout: deadlineMs, interval: 50 }).catch(() => {})
    if (!what.test(this.output)) throw new Error(`it has not said ${String(what)}, but:\n${this.output}`)
  }

  /** To the first process below that is called fairlead. */
  sendToLeaf(signal: NodeJS.Signals): void {
    process.kill(fairleadBelow(this.#child.pid ?? 0) ?? this.#child.pid ?? 0, signal)
  }

  ended(): Promise<number | null> {
    return this.#ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#hasEnded) {
      this.sendToLeaf('SIGKILL')
      this.#child.kill('SIGKILL')
    }
    await this.#ended
  }
}

function fairleadBelow(pid: number): number | undefined {
  const [program] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  if (program?.endsWith('/fairlead') === true) return pid
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  return children.map((child) => fairleadBelow(Number(child))).find((found) => found !== undefined)
}
