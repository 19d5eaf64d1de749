/**
 * Limits the connections of one or more HTTP servers, so that clients which only keep them open cannot use up the
 * descriptors of the process. A new client is always accepted as long as there is an idle connection to close.
 */
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** For servers that get small requests, which are sent quickly. */
export const smallRequestTimeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  /** How often Node checks the timeouts. */
  connectionsCheckingInterval: 5000,
} as const

/**
 * How many connections one limit may allow in a process that may open this many files. There are a few limits (health,
 * metrics, health-check ports of each family), and together they leave most descriptors for the real work.
 */
export function connectionsFor(openFilesLimit: number): number {
  return Math.min(512, Math.max(8, Math.floor(openFilesLimit / 40)))
}

interface Connection {
  readonly socket: Socket
  readonly peer: string
  /** Requests that have not been answered completely. */
  readonly answering: Set<ServerResponse>
}

export class ConnectionLimit {
  readonly #max: number
  /** Least recently active first. */
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
      const leaving = this.#mostExpendable()
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
    const connection = this.#connections.get(socket) ?? this.#below(socket)
    if (connection === undefined) return
    connection.answering.add(response)
    this.#moveToEnd(connection)
    response.once('close', () => {
      connection.answering.delete(response)
      if (this.#connections.has(connection.socket)) this.#moveToEnd(connection)
    })
  }

  /** With TLS, a request comes on a socket of its own, above the one that was accepted. */
  #below({ remotePort, remoteAddress, localPort }: Socket): Connection | undefined {
    return [...this.#connections.values()].find(
      ({ socket }) =>
        socket.remotePort === remotePort && socket.remoteAddress === remoteAddress && socket.localPort === localPort,
    )
  }

  #moveToEnd(connection: Connection): void {
    this.#connections.delete(connection.socket)
    this.#connections.set(connection.socket, connection)
  }

  /**
   * Prefers connections without a request in progress (idle, or slow to send one), then those that do not read their
   * answer. Among these it takes the oldest of the client that has the most, so that a client which opens many loses
   * its own.
   */
  #mostExpendable(): Connection | undefined {
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
