/** Accepts TCP connections at one address and joins each to an endpoint of its pool. */
import { createServer, type Server, type Socket } from 'node:net'
import { getSystemErrorName } from 'node:util'
import { descriptorOf } from '../../../net/kept-sockets.ts'
import { familyOf } from '../../../net/ip.ts'
import { acceptSockets, type OpenAccepted } from './accept-sockets.ts'
import { Admission, type Admitted } from './admission.ts'
import { AgeWatches } from './age-watch.ts'
import type { Choice } from './balancer.ts'
import { clientIp, type Assignment, type OpenListener } from './open-listener.ts'
import { endsOf, logsConnections, logAccepted, logCopied, logDialFailed, logJoined } from './connection-log.ts'
import { dialAnyEndpoint, type Chosen, type DialOutcome } from './dial.ts'
import { dialFailureOf, errorCode } from '../dial-failure.ts'
import type { EndpointCounters } from '../endpoint-counters.ts'
import type { ListenerCounters } from '../listener-counters.ts'
import { proxyHeader, type ProxyProtocol } from './proxy-protocol.ts'
import type { RelayParts } from './relay-parts.ts'
import { RelaySocket, type DirectionCount } from './relay-socket.ts'
import type { SocketAddress } from '../relay.ts'
import { resetSocket } from './tcp-reset.ts'
import { TcpConnection, type TcpConnectionOptions } from './tcp-connection.ts'
import { CopyTimes, type TcpRecord } from './tcp-record.ts'
import { Throttle } from '../throttle.ts'

/** The kernel caps it at net.core.somaxconn; Node's own 511 would drop connections in a burst. */
const backlog = 4096

type Dialled = Extract<DialOutcome, { readonly ok: true }>

/** Where the two directions of a connection are counted. */
type Directions = Pick<TcpConnectionOptions, 'toEndpoint' | 'toClient'>

export async function openTcpListener(
  address: SocketAddress,
  assignment: Assignment,
  counters: ListenerCounters,
  parts: RelayParts,
  fd?: number,
): Promise<OpenListener> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    const ipv6Only = familyOf(address.ip) === 'ipv6'
    const listening = () => {
      server.off('error', reject)
      resolve()
    }
    if (fd === undefined) server.listen({ host: address.ip, port: address.port, backlog, ipv6Only }, listening)
    else server.listen({ fd }, backlog, listening)
  })
  return new TcpListener(server, { ip: address.ip, port: boundPort(server) }, assignment, counters, parts)
}

class TcpListener implements OpenListener {
  readonly address: SocketAddress
  readonly #server: Server
  readonly #parts: RelayParts
  readonly counters: ListenerCounters
  readonly #directionsByEndpoint = new Map<EndpointCounters, Directions>()
  readonly #admission: Admission
  /** Accepted, but not joined to an endpoint yet. */
  readonly #waiting = new Set<Socket>()
  readonly #connections = new Set<TcpConnection>()
  /** Connections whose drain time has begun. */
  readonly #leaving = new Set<TcpConnection>()
  readonly #ages: AgeWatches<TcpConnection>
  readonly finished: Promise<void>
  #finish!: () => void
  #isStopped = false
  #assignment: Assignment

  constructor(
    server: Server,
    address: SocketAddress,
    assignment: Assignment,
    counters: ListenerCounters,
    parts: RelayParts,
  ) {
    this.address = address
    this.counters = counters
    this.#server = server
    this.#parts = parts
    this.#assignment = assignment
    this.#admission = new Admission(() => this.#assignment, counters, parts)
    this.#ages = new AgeWatches(parts, ({ endpoint }) => this.#assignment.pool.hasOnly(endpoint))
    this.finished = new Promise((resolve) => (this.#finish = resolve))
    assignment.pool.users.add(this)
    const acceptLog = new Throttle(parts.clock)
    acceptSockets(server, {
      onAccept: (open) => this.#accept(open),
      onError: (errno) =>
        acceptLog.run((silenced) =>
          parts.log.warn('accepting a connection failed', {
            service: this.#assignment.pool.service,
            error: getSystemErrorName(errno),
            silenced,
          }),
        ),
    })
  }

  get fd(): number | undefined {
    return descriptorOf(this.#server)
  }

  assign(assignment: Assignment): void {
    this.#assignment.pool.users.delete(this)
    assignment.pool.users.add(this)
    this.#assignment = assignment
    this.endpointsLeft()
    this.ageChanged()
  }

  ageChanged(): void {
    for (const connection of this.#connections) this.#followAge(connection)
  }

  #followAge(connection: TcpConnection): void {
    this.#ages.follow(connection, this.#assignment.pool.maxConnectionAgeMs)
  }

  endpointsLeft(): void {
    this.#directionsByEndpoint.clear() // Those that are still there come back with the next connection.
    this.#drainOrphans()
  }

  async stop(): Promise<void> {
    this.#assignment.pool.users.delete(this)
    this.#isStopped = true
    this.#server.close()
    this.#finishWhenEmpty()
    this.#drainOrphans()
  }

  cut(): void {
    for (const client of this.#waiting) resetSocket(client)
    for (const connection of this.#connections) connection.cut('the relay stops')
  }

  #accept(open: OpenAccepted): void {
    const accepted = new RelaySocket(this.#parts.buffers, open)
    const client = accepted.socket
    // A socket without this listener ends the process when its peer resets the connection.
    client.on('error', () => client.destroy())
    if (logsConnections(this.#parts.log)) {
      const { remote, local } = endsOf(client)
      logAccepted(this.#parts.log, { remoteAddress: remote, localAddress: local })
    }
    this.counters.add('connections', 1)
    const admitted = this.#admission.admit(accepted)
    if (admitted !== undefined) void this.#serve(admitted)
  }

  /** Each connection dials on its own, so an endpoint that does not answer keeps nobody else waiting. */
  async #serve(admitted: Admitted): Promise<void> {
    const { accepted, ip } = admitted
    const client = accepted.socket
    const { clock, counters } = this.#parts
    this.#waiting.add(client)
    let [startMs, timeoutMs] = [admitted.acceptedAtMs, 0]
    const noteDial = (choice: Choice, record: TcpRecord | undefined) =>
      record?.chosen({ choice, endpoints: this.#assignment.pool.names.length, timeoutMs, startMs })
    const outcome = await dialAnyEndpoint({
      timeoutsMs: this.#parts.settings.dialTimeoutsMs,
      choose: (timeout) => {
        const noted = (chosen: Chosen): Chosen => {
          if (chosen === undefined || typeof chosen === 'string') return chosen
          timeoutMs = timeout
          counters.dialling()
          noteDial(chosen, admitted.record)
          return chosen
        }
        const chosen = this.#admission.choose(admitted)
        if (!(chosen instanceof Promise)) return noted(chosen)
        return chosen.then((later) => {
          startMs = clock.monotonic()
          return noted(later)
        })
      },
      failed: (choice, error) => {
        const failedAtMs = clock.monotonic()
        counters.took('undialled', (failedAtMs - startMs) / 1000)
        noteDial(choice, this.#admission.lateRecordOf(admitted))
        admitted.record?.dialled(errorCode(error))
        this.#dialFailed(choice, ip, error)
        startMs = failedAtMs // The next attempt begins at once.
      },
      client,
      buffers: this.#parts.buffers,
    })
    this.#waiting.delete(client)
    const isJoined = outcome.ok && this.#join(admitted, outcome, startMs)
    if (!outcome.ok) this.#admission.giveUp(admitted, outcome.why)
    if (!isJoined) this.#admission.leave()
    this.#finishWhenEmpty()
  }

  #join({ accepted, record }: Admitted, { socket: dialled, choice }: Dialled, dialledAtMs: number): boolean {
    const [client, backend] = [accepted.socket, dialled.socket]
    const { log, settings, clock, counters: ofEngine } = this.#parts
    const startedAtMs = clock.monotonic()
    ofEngine.took('dialled', (startedAtMs - dialledAtMs) / 1000)
    const { pool } = this.#assignment
    pool.succeeded(choice.name)
    record?.dialled()
    if (client.destroyed) {
      choice.leave()
      record?.ended('client-left')
      resetSocket(backend)
      return false
    }
    const ofEndpoint = pool.countersOf(choice.name)
    if (pool.proxyProtocol !== undefined) backend.write(headerFor(pool.proxyProtocol, client))
    const logEnd = logsConnections(log) ? this.#follow(client, backend, startedAtMs) : undefined
    const notes = record === undefined ? undefined : new CopyTimes(clock)
    const connection = new TcpConnection({
      notes,
      client: accepted,
      backend: dialled,
      endpoint: choice.name,
      startedAtMs,
      halfCloseTimeoutMs: settings.halfCloseTimeoutMs,
      ...this.#directionsOf(ofEndpoint),
      onClose: (closed) => {
        this.#connections.delete(closed)
        this.#leaving.delete(closed)
        this.#ages.forget(closed)
        if (closed.limited !== undefined) this.counters.limited(closed.limited)
        this.counters.add('active', -1)
        choice.leave()
        const seconds = (clock.monotonic() - startedAtMs) / 1000
        this.counters.add('seconds', seconds)
        ofEndpoint.closed(seconds)
        ofEngine.took('connections', seconds)
        this.#admission.leave()
        logEnd?.(closed)
        record?.ended('connected', notes?.copied(closed))
        this.#finishWhenEmpty()
      },
    })
    if (notes !== undefined) record?.joined(() => notes.copied(connection))
    this.#connections.add(connection)
    this.#followAge(connection)
    this.counters.add('active', 1)
    ofEndpoint.opened(clock.now())
    return true
  }

  /** Counts for the listener and for the endpoint; the same for all connections of the two. */
  #directionsOf(endpoint: EndpointCounters): Directions {
    const known = this.#directionsByEndpoint.get(endpoint)
    if (known !== undefined) return known
    const { counters } = this
    const waiting = (bytes: number) => counters.add('waitingBytes', bytes)
    const counting = (cell: 'bytesIn' | 'bytesOut'): DirectionCount => ({
      moved(bytes) {
        counters.add(cell, bytes)
        endpoint.add(cell, bytes)
      },
      waiting,
    })
    const directions = { toEndpoint: counting('bytesIn'), toClient: counting('bytesOut') }
    this.#directionsByEndpoint.set(endpoint, directions)
    return directions
  }

  /** A closed socket no longer knows its addresses, so they are read at the start. */
  #follow(client: Socket, backend: Socket, startedAtMs: number): (done: TcpConnection) => void {
    const { log, clock } = this.#parts
    const { service } = this.#assignment.pool
    const [inside, outside] = [endsOf(client), endsOf(backend)]
    logJoined(log, {
      inRemoteAddress: inside.remote,
      inLocalAddress: inside.local,
      outLocalAddress: outside.local,
      outRemoteAddress: outside.remote,
    })
    return ({ bytesIn, bytesOut }) => {
      const durationMs = Math.round(clock.monotonic() - startedAtMs)
      logCopied(log, { service, client: inside.remote, endpoint: outside.remote, bytesIn, bytesOut, durationMs })
    }
  }

  #dialFailed(choice: Choice, ip: string, error: unknown): void {
    const { pool } = this.#assignment
    const why = dialFailureOf(error)
    this.counters.add('dialFailures', 1)
    this.#parts.counters.failed(why)
    pool.countersOf(choice.name).failed(why)
    if (pool.failed(choice.name, ip)) this.#parts.counters.avoiding()
    logDialFailed(this.#parts.log, pool.service, choice.name, error)
  }

  /** Cuts the connections whose endpoint or listener is gone, if they still are after the grace. */
  #drainOrphans(): void {
    const { settings, clock, ending } = this.#parts
    if (settings.drainTimeoutMs === undefined) return
    const orphans = [...this.#connections].filter((one) => !this.#leaving.has(one) && this.#isOrphan(one))
    if (orphans.length === 0) return
    for (const connection of orphans) this.#leaving.add(connection)
    clock.sleep(settings.drainTimeoutMs, ending).then(
      () => orphans.forEach((connection) => this.#drained(connection)),
      () => {}, // The engine ends and cuts them itself.
    )
  }

  #drained(connection: TcpConnection): void {
    this.#leaving.delete(connection)
    if (this.#isOrphan(connection)) connection.cut('its endpoint or its Service is gone')
  }

  #isOrphan(connection: TcpConnection): boolean {
    return this.#isStopped || !this.#assignment.pool.has(connection.endpoint)
  }

  #finishWhenEmpty(): void {
    if (this.#isStopped && this.#connections.size === 0 && this.#waiting.size === 0) this.#finish()
  }
}

function headerFor(version: ProxyProtocol, client: Socket): Buffer {
  const { remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 } = client
  const from = { ip: clientIp(remoteAddress), port: remotePort }
  return proxyHeader(version, from, { ip: clientIp(localAddress), port: localPort })
}

function boundPort(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string')
    throw new TypeError('a TCP server has an address once it listens')
  return address.port
}
