/**
 * Who is let in at a TCP listener: by where it comes from, by the descriptors that are left, and by the limits of its Service,
 * for which it may have to wait. Whoever is not is turned away, counted and told of.
 */
import type { Choice } from './balancer.ts'
import { chosenFor, endsOf, logChoice, logLimited, logsConnections } from './connection-log.ts'
import type { Chosen, DialOutcome } from './dial.ts'
import type { ListenerCounters } from '../listener-counters.ts'
import { clientIp, mayUse, type Assignment } from './open-listener.ts'
import type { RelayParts } from './relay-parts.ts'
import type { RelaySocket } from './relay-socket.ts'
import type { Full, TurnedAway } from '../relay.ts'
import { resetSocket } from './tcp-reset.ts'
import { TcpRecord } from './tcp-record.ts'
import { Throttle } from '../throttle.ts'
import { longestWaitMs } from './waiting-line.ts'

/** The client's socket and the endpoint's. */
const descriptorsPerConnection = 2

/** A connection that is let in, and has no endpoint yet. */
export interface Admitted {
  readonly accepted: RelaySocket
  /** Of the client; empty where nobody needs it. */
  readonly ip: string
  readonly acceptedAtMs: number
  /** How long it may wait for room; undefined: it has not had to. */
  waitUntilMs?: number
  /** Most connections have none. */
  record: TcpRecord | undefined
  /** Or could have been: it is not asked for twice. */
  isReported: boolean
}

export class Admission {
  /** As the listener has it now. */
  readonly #assignment: () => Assignment
  readonly #counters: ListenerCounters
  readonly #parts: RelayParts
  readonly #unreachableLog: Throttle
  readonly #limitLog: Throttle

  constructor(assignment: () => Assignment, counters: ListenerCounters, parts: RelayParts) {
    this.#assignment = assignment
    this.#counters = counters
    this.#parts = parts
    this.#unreachableLog = new Throttle(parts.clock)
    this.#limitLog = new Throttle(parts.clock)
  }

  /** Undefined: it has been turned away, or has left. One that is let in holds descriptors until `leave`. */
  admit(accepted: RelaySocket): Admitted | undefined {
    const client = accepted.socket
    const ip = this.#needsAddress() ? client.remoteAddress : ''
    if (ip === undefined) return void client.destroy() // It left before we looked.
    const { reports, clock, descriptors } = this.#parts
    const isReported = reports.takes()
    const admitted: Admitted = {
      accepted,
      ip: clientIp(ip),
      acceptedAtMs: clock.monotonic(),
      record: undefined,
      isReported,
    }
    if (isReported) admitted.record = this.#recordOf(admitted)
    if (!mayUse(this.#assignment(), admitted.ip)) return this.#turnAway(admitted, 'source-not-allowed')
    if (!descriptors.tryTake(descriptorsPerConnection, this.#assignment().pool.service))
      return this.#turnAway(admitted, 'overload')
    return admitted
  }

  leave(): void {
    this.#parts.descriptors.giveBack(descriptorsPerConnection)
  }

  /** Its endpoint, nearly always at once. */
  choose(admitted: Admitted): Chosen | Promise<Chosen> {
    const chosen = this.#chooseNow(admitted)
    return typeof chosen === 'string' ? this.#waitForRoom(admitted, chosen) : chosen
  }

  /** A record that begins now, if it had none and may have one. */
  lateRecordOf(admitted: Admitted): TcpRecord | undefined {
    if (admitted.isReported) return undefined
    admitted.isReported = true
    if (this.#parts.reports.takesFailure()) admitted.record = this.#recordOf(admitted)
    return admitted.record
  }

  /** It does not get an endpoint. */
  giveUp(admitted: Admitted, why: Exclude<DialOutcome, { ok: true }>['why']): void {
    const { pool } = this.#assignment()
    if (why === 'client-left') return admitted.record?.ended(why)
    if (why === 'max-connections' || why === 'max-dials-per-second')
      this.#limitLog.run((silenced) => logLimited(this.#parts.log, pool.service, silenced))
    if (why === 'overload') this.#parts.descriptors.reportShortage(pool.service)
    if (why === 'unreachable')
      this.#unreachableLog.run((silenced) =>
        this.#parts.log.warn('no endpoint answered', {
          service: pool.service,
          endpoints: pool.names,
          alsoTurnedAway: silenced,
        }),
      )
    this.#turnAway(admitted, why)
  }

  #turnAway(admitted: Admitted, why: TurnedAway): undefined {
    const client = admitted.accepted.socket
    this.#counters.turnedAway(why)
    this.lateRecordOf(admitted)
    admitted.record?.ended(why)
    // A clean close would look like an empty answer. It is right only where a traffic policy leaves this node without
    // endpoints: then the Service has not failed.
    if (why === 'no-endpoint' && this.#assignment().pool.whenEmpty === 'close') client.destroy()
    else resetSocket(client)
  }

  /** Asking the kernel who the client is takes time that most Services can do without. */
  #needsAddress(): boolean {
    const { pool, allowedSources } = this.#assignment()
    const isTold = pool.proxyProtocol !== undefined
    return pool.looksAtClients || isTold || allowedSources.length > 0 || logsConnections(this.#parts.log)
  }

  #recordOf({ accepted, acceptedAtMs }: Admitted): TcpRecord {
    const { remote, local } = endsOf(accepted.socket)
    const { service } = this.#assignment().pool
    return new TcpRecord({ service, client: remote, local, acceptedAtMs }, this.#parts)
  }

  /** Whoever comes while others wait is behind them. */
  async #waitForRoom(admitted: Admitted, full: Full): Promise<Chosen> {
    const { pool } = this.#assignment()
    if (!pool.line.hasRoom) return full
    if (admitted.waitUntilMs === undefined) this.#counters.limited('waited')
    admitted.waitUntilMs ??= this.#parts.clock.monotonic() + longestWaitMs
    const waiter = {
      untilMs: admitted.waitUntilMs,
      hasLeft: () => admitted.accepted.socket.destroyed,
      attempt: () => this.#chooseNow(admitted),
    }
    return pool.line.wait(waiter, full)
  }

  #chooseNow({ accepted: { socket: client }, ip, waitUntilMs }: Admitted): Choice | Full | undefined {
    const { pool } = this.#assignment()
    if (waitUntilMs === undefined && pool.line.waitsFor !== undefined) return pool.line.waitsFor
    const { log } = this.#parts
    const port = pool.looksAtClients || logsConnections(log) ? client.remotePort : undefined
    const from = { ip, port: port ?? 0 }
    const choice = pool.next(from)
    if (typeof choice === 'object' && logsConnections(log)) logChoice(log, chosenFor(pool, choice, from))
    return choice
  }
}
