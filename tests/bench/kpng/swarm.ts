/** Many nodes in one process: a small program in Go, because in JavaScript they would cost more than the core. */
import { execFile, spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** What each node has once all of them have the first state. */
export interface FirstState {
  readonly services: number
  readonly endpoints: number
  /** To all nodes together. */
  readonly bytes: number
}

export interface SwarmReport {
  /** Pairs of a change and a node that never came together. */
  readonly missing: number
  /** From the API server's event to the complete change set at a node. */
  readonly delay: DelaySpread
  /** The same, to the last of the nodes. */
  readonly delayToAll: DelaySpread
  /** Nodes whose whole state was compared with what the core tells a newcomer, and how many of them differ. */
  readonly compared: number
  readonly different: number
  /** All nodes together. */
  readonly changeSets: number
  readonly bytes: number
}

export interface DelaySpread {
  readonly medianMs: number
  readonly p99Ms: number
  readonly maxMs: number
}

const program = fileURLToPath(new URL('../../../.cache/bench/kpng-swarm', import.meta.url))

export async function buildSwarm(): Promise<void> {
  const cwd = fileURLToPath(new URL('./swarm/', import.meta.url))
  const env = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/local/go/bin:/usr/lib/go/bin` }
  await promisify(execFile)('go', ['build', '-o', program, '.'], { cwd, env }).catch((cause: unknown) => {
    throw new Error('the nodes could not be built: install Go 1.24 or later', { cause })
  })
}

export class Swarm implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: AsyncIterator<string>

  constructor(core: string, nodes: number) {
    this.#child = spawn(program, [core, String(nodes)], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  firstState(): Promise<FirstState> {
    return this.#next<FirstState>()
  }

  /** `changedAtMs`: when each change was written by the API server, in the order of their numbers. */
  report(changedAtMs: readonly number[]): Promise<SwarmReport> {
    this.#child.stdin.end(JSON.stringify({ changedAtMs }))
    return this.#next<SwarmReport>()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }

  async #next<T>(): Promise<T> {
    const line = await this.#lines.next()
    if (line.done === true) throw new Error('the nodes ended early: their output is above')
    return JSON.parse(line.value) as T
  }
}
