/** The servers of the sample application that run now, by the name of their replica. */
import { startHttpBackend, startUdpBackend } from './sample-backends.ts'
import type { SampleBackend } from './sample-backends.ts'

export class ReplicaServers implements AsyncDisposable {
  readonly #backendsByName = new Map<string, SampleBackend>()

  get names(): readonly string[] {
    return [...this.#backendsByName.keys()]
  }

  isRunning(name: string): boolean {
    return this.#backendsByName.has(name)
  }

  /** Returns its port: the one that is asked for, unless somebody else has it. */
  async start(name: string, protocol: 'TCP' | 'UDP', port = 0): Promise<number> {
    const start = protocol === 'UDP' ? startUdpBackend : startHttpBackend
    const backend = await start(name, port).catch((error: unknown) => {
      if (port === 0) throw error
      return start(name)
    })
    this.#backendsByName.set(name, backend)
    return backend.port
  }

  async stop(name: string): Promise<void> {
    const backend = this.#backendsByName.get(name)
    this.#backendsByName.delete(name)
    await backend?.[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of this.names) await this.stop(name)
  }
}
