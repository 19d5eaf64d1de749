/** Stands before a server and writes down what it answers: a browser hides that where a page may not read it. */
import { once } from 'node:events'
import { createServer, request as ask } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { eventually } from '../../e2e/testing/eventually.ts'

export class RecordingProxy implements AsyncDisposable {
  readonly #server: Server
  readonly #statusesByPath = new Map<string, number[]>()

  private constructor(target: string) {
    // Headers pass as they are, Host too: what the server decides, it decides by them.
    this.#server = createServer((request, response) => {
      const { method, headers, url = '' } = request
      const forwarded = ask(target + url, { method, headers }, (answer) => {
        const statuses = this.#statusesByPath.get(url) ?? []
        this.#statusesByPath.set(url, [...statuses, answer.statusCode ?? 0])
        response.writeHead(answer.statusCode ?? 0, answer.headers)
        answer.pipe(response)
      })
      forwarded.on('error', () => response.destroy())
      response.on('close', () => forwarded.destroy())
      request.pipe(forwarded)
    })
  }

  static async start(target: string): Promise<RecordingProxy> {
    const proxy = new RecordingProxy(target)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The statuses of all answers for a path and query since the last time; waits for as many. */
  async answersFor(path: string, count = 1): Promise<readonly number[]> {
    const statuses = await eventually(() => {
      const seen = this.#statusesByPath.get(path) ?? []
      if (seen.length < count) throw new Error(`${seen.length} of ${count} answers for ${path}`)
      return seen
    })
    this.#statusesByPath.delete(path)
    return statuses
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
