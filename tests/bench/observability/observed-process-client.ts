import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { compiledScript } from '../compiled-scripts.ts'
import type { Cost } from './observed-result.ts'

const script = compiledScript(new URL('./observed-process.ts', import.meta.url))

/** A process that syncs, in a network namespace of its own, and is told when to change something. */
export class ObservedProcess {
  readonly #child
  readonly #lines: AsyncIterator<string>

  constructor(services: number, watched: 'on' | 'off') {
    this.#child = spawn('unshare', ['-n', process.execPath, script, String(services), watched], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  firstSync(): Promise<Cost> {
    return this.#answer()
  }

  /** What one of so many changes takes. */
  change(changes: number): Promise<Cost> {
    this.#child.stdin.write(`${changes}\n`)
    return this.#answer()
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.stdin.end()
    await ended
  }

  async #answer(): Promise<Cost> {
    const { value, done } = await this.#lines.next()
    if (done === true) throw new Error('the measured process has ended: what it wrote above says why')
    return JSON.parse(value) as Cost
  }
}
