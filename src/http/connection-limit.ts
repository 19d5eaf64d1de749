/**
 * Bounds the connections of one or more HTTP servers, so that clients who only keep them open cannot use up the
 * descriptors of the process. A new client always gets in as long as somebody else just holds on.
 */
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** For servers that small requests come to: nobody needs long to send one. */
export const smallRequestTimeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  /** How often Node looks for those that are over time. */
  connectionsCheckingInterval: 5000,
} as const

/**
 * How many connections one limit may hold in a process that may have so many files open. There are a few limits (health,
 * metrics, health-check ports of each family), and all of them together leave most descriptors to the real work.
 */
export function connectionsFor(openFilesLimit: number): number {
  return Math.min(512, Math.max(8, Math.floor(openFilesLimit / 40)))
}

interface Connection {
  readonly socket: Socket
  readonly peer: string
  /** Requests that the handler has not answered in full yet. */
  readonly answering: Set<ServerResponse>
}

export class ConnectionLimit {
  readonly #max: number
  /** Those that did something last come last. */
  readonly #connections = new Map<Socket, Connection>()

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#connections.size
  }

  /** Counts what the server accepts from now on; several servers may share one limit. */
  bound(server: Server): void {
    server.on('connection', (socket) => this.#admit(socket))
    server.on('request', (request, response) => this.#note(request.socket, response))
  }

  #admit(socket: Socket): void {
    if (this.#connections.size >= this.#max) {
      const leaving = this.#leastMissed()
      if (leaving === undefined) {
        socket.destroy()
        return
      }
      this.#connections.delete(leaving.socket)
      leaving.socket.destroy()
    }
    this.#connections.set(socket, { socket, peer: socket.remoteAddress ?? '', answering: new Set() })
    socket.once('close', () => this.#connections.delete(socket))
  }

  #note(socket: Socket, response: ServerResponse): void {
    const connection = this.#connections.get(socket)
    if (connection === undefined) return
    connection.answering.add(response)
    this.#moveToEnd(connection)
    response.once('close', () => {
      connection.answering.delete(response)
      if (this.#connections.has(socket)) this.#moveToEnd(connection)
    })
  }

  #moveToEnd(connection: Connection): void {
    this.#connections.delete(connection.socket)
    this.#connections.set(connection.socket, connection)
  }

  /**
   * First those without a request under way (idle, or slow to send one), then those that do not take their answer. Of
   * the client with the most of them the one that has been silent longest: who opens many loses his own.
   */
  #leastMissed(): Connection | undefined {
    const all = [...this.#connections.values()]
    const waiting = all.filter(({ answering }) => answering.size === 0)
    if (waiting.length > 0) return oldestOfGreediest(waiting)
    return oldestOfGreediest(all.filter(({ answering }) => [...answering].every(({ writableEnded }) => writableEnded)))
  }
}

function oldestOfGreediest(connections: readonly Connection[]): Connection | undefined {
  const countByPeer = new Map<string, number>()
  for (const { peer } of connections) countByPeer.set(peer, (countByPeer.get(peer) ?? 0) + 1)
  const most = Math.max(...countByPeer.values())
  return connections.find(({ peer }) => countByPeer.get(peer) === most)
}
