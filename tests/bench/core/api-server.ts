import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { FromApiServer, ToApiServer } from './api-server-messages.ts'

/** The side of the benchmark: starts the API server's process and talks to it. */
export class ApiServer implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #ready: Extract<FromApiServer, { kind: 'ready' }>
  readonly #lastByteMsByPath = new Map<string, number>()
  readonly #watchesByPath = new Map<string, number>()
  #changedBytes = 0

  static async start(script: string, services: number, hasSpecialServices = false): Promise<ApiServer> {
    const child = fork(script, [String(services), ...(hasSpecialServices ? ['special'] : [])])
    // Whoever waits for a message with `once` learns about this.
    child.once('exit', (code) => {
      if (code !== 0) child.emit('error', new Error(`the benchmark's API server ended with status ${code}`))
    })
    const [message] = (await once(child, 'message')) as [FromApiServer]
    if (message.kind !== 'ready') throw new Error(`the benchmark's API server began with "${message.kind}"`)
    return new ApiServer(child, message)
  }

  private constructor(child: ChildProcess, ready: Extract<FromApiServer, { kind: 'ready' }>) {
    this.#child = child
    this.#ready = ready
    child.on('message', (message: FromApiServer) => {
      if (message.kind === 'sent') this.#lastByteMsByPath.set(message.path, message.atMs)
      if (message.kind === 'watched')
        this.#watchesByPath.set(message.path, (this.#watchesByPath.get(message.path) ?? 0) + 1)
    })
  }

  url(mode: 'stream' | 'whole' | 'pages'): string {
    return `http://127.0.0.1:${this.#ready.port}/${mode}`
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Of all initial events. */
  get megabytes(): number {
    return this.#ready.bytes / 1e6
  }

  /** How often somebody began to watch, by path. */
  get watchesByPath(): ReadonlyMap<string, number> {
    return this.#watchesByPath
  }

  /** Of all events of changes so far, to one watcher. */
  get changedBytes(): number {
    return this.#changedBytes
  }

  forgetLastByte(): void {
    this.#lastByteMsByPath.clear()
  }

  /** When the last byte of the last Service or EndpointSlice left. Call it once the client has all of them. */
  lastByteMs(): number {
    return Math.max(
      ...['/api/v1/services', '/apis/discovery.k8s.io/v1/endpointslices'].map((path) => {
        const atMs = this.#lastByteMsByPath.get(path)
        if (atMs === undefined) throw new Error(`the client has a complete view, but nobody asked for ${path}`)
        return atMs
      }),
    )
  }

  /** Replaces one endpoint of as many Services. Tells when the event of each was written. */
  async change(request: ToApiServer): Promise<ReadonlyMap<string, number>> {
    const answer = new Promise<Extract<FromApiServer, { kind: 'changed' }>>((resolve) => {
      const listener = (message: FromApiServer) => {
        if (message.kind !== 'changed') return
        this.#child.off('message', listener)
        resolve(message)
      }
      this.#child.on('message', listener)
    })
    this.#child.send(request)
    const { changes, bytes } = await answer
    this.#changedBytes += bytes
    return new Map(changes)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.disconnect()
    await once(this.#child, 'exit')
  }
}
