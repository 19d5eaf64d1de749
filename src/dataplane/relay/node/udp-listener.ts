/**
 * Receives datagrams at one address. Each client address and port is a flow to one endpoint; answers leave from the
 * listening socket, so the client sees them come from the Service's address.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { descriptorOf } from '../../../net/kept-sockets.ts'
import { familyOf, hostPort } from '../../../net/ip.ts'
import { handleOf } from '../../../net/socket-handle.ts'
import { AgeWatches } from './age-watch.ts'
import type { Choice } from './balancer.ts'
import { clientIp, mayUse, type Assignment, type OpenListener } from './open-listener.ts'
import { chosenFor, logChoice, logNewUdpClient } from './connection-log.ts'
import { isOutOfDescriptors } from '../descriptor-budget.ts'
import { dialFailureOf } from '../dial-failure.ts'
import { IdleMap } from './idle-map.ts'
import type { ListenerCounters } from '../listener-counters.ts'
import { noLookup, maxSendQueueBytes, UdpFlow } from './udp-flow.ts'
import type { RelayParts } from './relay-parts.ts'
import type { UdpEnd } from '../connection-report.ts'
import type { SocketAddress, TurnedAway } from '../relay.ts'
import { UdpRecord, type UdpClientFacts } from './udp-record.ts'

/** Datagrams arrive in bursts while Node is busy elsewhere; the kernel caps it at net.core.rmem_max. */
const recvBufferSize = 1_048_576
/** Before a socket that failed is replaced, doubled each time until a datagram comes. */
const pausesMs = { first: 5, most: 1_000 }

export async function openUdpListener(
  address: SocketAddress,
  assignment: Assignment,
  counters: ListenerCounters,
  parts: RelayParts,
  fd?: number,
): Promise<OpenListener> {
  const socket = await bindSocket(address, fd)
  return new UdpListener(socket, { ip: address.ip, port: socket.address().port }, assignment, counters, parts)
}

async function bindSocket({ ip, port }: SocketAddress, fd?: number): Promise<Socket> {
  const isIpv6 = familyOf(ip) === 'ipv6'
  const socket = createSocket({ type: isIpv6 ? 'udp6' : 'udp4', ipv6Only: isIpv6, recvBufferSize, lookup: noLookup })
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.bind({ exclusive: true, ...(fd === undefined ? { address: ip, port } : { fd }) }, () => {
      socket.off('error', reject)
      resolve()
    })
  }).catch((error: unknown) => {
    socket.close()
    throw error
  })
  return socket
}

class UdpListener implements OpenListener {
  readonly address: SocketAddress
  readonly finished: Promise<void>
  readonly #parts: RelayParts
  readonly #stopping = new AbortController()
  /** Undefined while another one is opened. */
  #socket: Socket | undefined
  #reopening: Promise<void> = Promise.resolve()
  #pauseMs = pausesMs.first
  readonly counters: ListenerCounters
  readonly #flowsByClient: IdleMap<string, UdpFlow>
  readonly #ages: AgeWatches<UdpFlow>
  #finish!: () => void
  #assignment: Assignment

  constructor(
    socket: Socket,
    address: SocketAddress,
    assignment: Assignment,
    counters: ListenerCounters,
    parts: RelayParts,
  ) {
    this.address = address
    this.counters = counters
    this.#parts = parts
    this.#assignment = assignment
    this.#flowsByClient = new IdleMap({
      idleMs: parts.settings.udpIdleMs,
      clock: parts.clock,
      onIdle: (_client, flow) => {
        parts.log.debug(3, 'Connection to endpoint closed due to inactivity', { endpoint: flow.endpoint })
        this.#forget(flow, 'idle')
      },
    })
    this.#ages = new AgeWatches(parts, ({ endpoint }) => this.#assignment.pool.hasOnly(endpoint))
    this.finished = new Promise((resolve) => (this.#finish = resolve))
    assignment.pool.users.add(this)
    this.#listenTo(socket)
  }

  assign(assignment: Assignment): void {
    this.#assignment.pool.users.delete(this)
    assignment.pool.users.add(this)
    this.#assignment = assignment
    this.endpointsLeft()
    this.ageChanged()
  }

  ageChanged(): void {
    for (const [, flow] of this.#flowsByClient.entries()) this.#followAge(flow)
  }

  #followAge(flow: UdpFlow): void {
    this.#ages.follow(flow, this.#assignment.pool.maxConnectionAgeMs)
  }

  endpointsLeft(): void {
    for (const [client, flow] of this.#flowsByClient.entries())
      if (!this.#assignment.pool.has(flow.endpoint)) this.#drop(client, 'endpoint-left')
  }

  get fd(): number | undefined {
    return this.#socket && descriptorOf(this.#socket)
  }

  async stop(isGentle = false): Promise<void> {
    this.#assignment.pool.users.delete(this)
    this.#stopping.abort()
    await this.#reopening
    if (isGentle && this.#socket !== undefined && stopReceiving(this.#socket))
      return void this.#untilIdle().then(() => this.#end())
    await this.#end()
  }

  async #untilIdle(): Promise<void> {
    const { clock, settings, ending } = this.#parts
    while (this.#flowsByClient.size > 0 && !ending.aborted)
      await clock.sleep(settings.udpIdleMs, ending).catch(() => {})
  }

  async #end(): Promise<void> {
    this.cut()
    if (this.#socket !== undefined) await closed(this.#socket)
    this.#finish()
  }

  cut(): void {
    for (const [client] of this.#flowsByClient.entries()) this.#drop(client, 'stopped')
  }

  #listenTo(socket: Socket): void {
    this.#socket = socket
    socket.on('message', (datagram, from) => {
      this.#pauseMs = pausesMs.first
      this.#receive(datagram, from)
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#parts.log.debug(3, 'receiving a datagram failed', { service: this.#service, error })
      // Windows tells that a client did not want an earlier answer. The socket still works.
      if (error.code === 'ECONNRESET' || this.#socket !== socket) return
      this.#socket = undefined
      this.#reopening = this.#reopen(socket)
    })
  }

  /**
   * After another error Windows receives nothing more, and Linux may report the same one without end. So another socket takes
   * its place, but not at once.
   */
  async #reopen(broken: Socket): Promise<void> {
    const { signal } = this.#stopping
    await closed(broken)
    while (this.#socket === undefined && !signal.aborted) {
      await this.#parts.clock.sleep(this.#pauseMs, signal).catch(() => {})
      this.#pauseMs = Math.min(pausesMs.most, 2 * this.#pauseMs)
      if (signal.aborted) return
      try {
        this.#listenTo(await bindSocket(this.address))
      } catch (error) {
        this.#parts.log.debug(3, 'the address cannot be listened on again yet', { service: this.#service, error })
      }
    }
  }

  #receive(datagram: Buffer, from: RemoteInfo): void {
    const ip = clientIp(from.address)
    if (!mayUse(this.#assignment, ip)) return this.counters.turnedAway('source-not-allowed')
    const client = hostPort(ip, from.port)
    const flow = this.#flowsByClient.use(client) ?? this.#openFlow(client, ip, from)
    flow?.send(datagram)
  }

  #openFlow(client: string, ip: string, from: RemoteInfo): UdpFlow | undefined {
    const { log, descriptors, settings, clock, reports, counters: ofEngine } = this.#parts
    const { pool } = this.#assignment
    logNewUdpClient(log, client)
    this.counters.add('connections', 1)
    const isFull = this.#flowsByClient.size >= settings.maxUdpFlowsPerListener
    // The one that makes room leaves its descriptor.
    if (!isFull && !descriptors.tryTake(1, pool.service)) return this.#turnAway(client, 'overload')
    const choice = pool.next({ ip, port: from.port })
    if (choice === undefined || typeof choice === 'string') {
      if (!isFull) descriptors.giveBack(1)
      return this.#turnAway(client, choice ?? 'no-endpoint')
    }
    if (isFull) {
      this.#dropOldest()
      descriptors.take(1)
    }
    logChoice(log, chosenFor(pool, choice, { ip, port: from.port }))
    const ofEndpoint = pool.countersOf(choice.name)
    const openedAtMs = clock.monotonic()
    const record = reports.takes()
      ? new UdpRecord({ ...this.#factsOf(client), endpoint: choice.name }, this.#parts)
      : undefined
    const flow: UdpFlow = new UdpFlow({
      startedAtMs: openedAtMs,
      endpoint: choice.endpoint,
      name: choice.name,
      onAnswer: (datagram) => {
        ofEndpoint.add('bytesOut', datagram.length)
        record?.answered(datagram.length)
        this.#answer(client, from, datagram)
      },
      onSent: (bytes) => {
        this.counters.add('bytesIn', bytes)
        ofEndpoint.add('bytesIn', bytes)
        record?.received(bytes)
      },
      onAged: () => this.#drop(client, 'aged'),
      onClose: (why) => {
        record?.ended(why)
        choice.leave()
        ofEndpoint.closed((clock.monotonic() - openedAtMs) / 1000)
      },
      onError: (error) => this.#flowFailed(client, ip, choice, error),
    })
    this.#flowsByClient.add(client, flow)
    this.#followAge(flow)
    ofEngine.dialling()
    ofEndpoint.opened(clock.now())
    this.counters.add('active', 1)
    return flow
  }

  /** Nobody knows of this client afterwards. */
  #turnAway(client: string, why: TurnedAway): undefined {
    this.counters.turnedAway(why)
    if (this.#parts.reports.takesFailure()) new UdpRecord(this.#factsOf(client), this.#parts).ended(why)
  }

  #factsOf(client: string): UdpClientFacts {
    return { service: this.#service, client, local: hostPort(this.address.ip, this.address.port) }
  }

  #answer(client: string, to: RemoteInfo, datagram: Buffer): void {
    this.counters.add('bytesOut', datagram.length)
    this.#flowsByClient.use(client)
    const socket = this.#socket
    if (socket === undefined || socket.getSendQueueSize() > maxSendQueueBytes) return
    socket.send(datagram, to.port, to.address, () => {})
  }

  #flowFailed(client: string, ip: string, choice: Choice, error: Error): void {
    const { log, descriptors } = this.#parts
    const { pool } = this.#assignment
    this.#drop(client, 'failed')
    if (isOutOfDescriptors(error)) {
      this.counters.turnedAway('overload')
      return descriptors.reportShortage(pool.service)
    }
    const why = dialFailureOf(error)
    this.counters.add('dialFailures', 1)
    this.#parts.counters.failed(why)
    pool.countersOf(choice.name).failed(why)
    if (pool.failed(choice.name, ip)) this.#parts.counters.avoiding()
    log.debug(3, 'Dial failed', { service: pool.service, endpoint: choice.name, error })
  }

  #dropOldest(): void {
    for (const [client] of this.#flowsByClient.entries()) return this.#drop(client, 'too-many-clients')
  }

  #drop(client: string, why: UdpEnd): void {
    const flow = this.#flowsByClient.remove(client)
    if (flow !== undefined) this.#forget(flow, why)
  }

  #forget(flow: UdpFlow, why: UdpEnd): void {
    flow.close(why)
    this.#ages.forget(flow)
    if (why === 'aged') this.counters.limited('aged')
    this.counters.add('active', -1)
    this.#parts.descriptors.giveBack(1)
  }

  get #service(): string {
    return this.#assignment.pool.service
  }
}

/** Whatever comes now is for another process that has the socket. False: Node does not let us. */
function stopReceiving(socket: Socket): boolean {
  const handle: { recvStop?(): number } | undefined = handleOf(socket)
  return handle?.recvStop?.() === 0
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.close(() => resolve()))
}
