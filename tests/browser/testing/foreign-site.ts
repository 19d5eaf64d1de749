/** A web page of somebody else, on this machine too, but of another origin. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Leads to 127.0.0.1 in a browser that is started with `resolverRules`. */
export const foreignName = 'evil.example'
export const resolverRules = `--host-resolver-rules=MAP ${foreignName} 127.0.0.1`

export class ForeignSite implements AsyncDisposable {
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(): Promise<ForeignSite> {
    const server = createServer((_, response) => {
      response.setHeader('Content-Type', 'text/html')
      response.end('<!doctype html><title>elsewhere</title><body>A page from elsewhere.</body>')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new ForeignSite(server)
  }

  get url(): string {
    return `http://${foreignName}:${(this.#server.address() as AddressInfo).port}/`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
