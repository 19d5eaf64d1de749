/** A program that runs on a node of the test cluster. */
import { once } from 'node:events'
import type { Namespace } from './namespace.ts'

export class NodeProcess implements AsyncDisposable {
  readonly pid: number
  /** The end of what it has written. */
  output = ''
  readonly #child: ReturnType<Namespace['start']>
  readonly #exited: Promise<unknown>

  constructor(node: Namespace, program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.#child = node.start(program, args, { ...environment(), ...env })
    this.#exited = once(this.#child, 'exit')
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (this.output = (this.output + text).slice(-100_000)))
    this.pid = this.#child.pid ?? 0
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Waits for the end, which a signal may bring; then it is null. */
  async ended(): Promise<number | null> {
    await this.#exited
    return this.#child.exitCode
  }

  /** Sends the signal and waits for the end. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    if (this.isRunning) this.#child.kill(signal)
    await this.#exited
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop('SIGKILL')
  }
}

/** What vitest sets for itself would change what a program does, and a test in a pod must not find its cluster. */
function environment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, NODE_ENV: _env, KUBERNETES_SERVICE_HOST: _host, ...others } = process.env
  return others
}
