/** Tells when the kernel committed a transaction of nf_tables. */
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Namespace } from '../../packet/testing/namespace.ts'
import { compiledScript } from '../compiled-scripts.ts'
import { sharedClockMs } from '../core/shared-clock.ts'

const script = compiledScript(new URL('./commit-watch-process.ts', import.meta.url))
const patienceMs = 600_000

export class CommitWatch implements AsyncDisposable {
  readonly #child: ReturnType<Namespace['start']>
  readonly #commitsMs: number[] = []
  readonly #listening: Promise<unknown>

  static async start(namespace: Namespace): Promise<CommitWatch> {
    const watch = new CommitWatch(namespace.start(process.execPath, [script], process.env))
    await watch.#listening
    return watch
  }

  private constructor(child: ReturnType<Namespace['start']>) {
    this.#child = child
    child.stderr.pipe(process.stderr)
    const lines = createInterface(child.stdout)
    this.#listening = once(lines, 'line')
    lines.on('line', (line) => {
      if (line !== 'listening') this.#commitsMs.push(Number(line))
    })
  }

  /** When the first commit after this moment was, on the shared clock. */
  async firstAfter(sinceMs: number): Promise<number> {
    const deadline = sharedClockMs() + patienceMs
    for (;;) {
      const found = this.#commitsMs.find((atMs) => atMs > sinceMs)
      if (found !== undefined) return found
      if (sharedClockMs() > deadline) throw new Error('the proxy has committed nothing after a change')
      await sleep(1)
    }
  }

  /** When the last commit after this moment was, once there has been none for a while. */
  async lastAfter(sinceMs: number, quietMs: number): Promise<number> {
    await this.firstAfter(sinceMs)
    let lastMs: number
    do {
      lastMs = this.#commitsMs.at(-1) ?? sinceMs
      await sleep(quietMs)
    } while (this.#commitsMs.at(-1) !== lastMs)
    return lastMs
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL')
    await once(this.#child, 'exit')
  }
}
