/** Turns what the native engine reports without being asked into the log lines that the other engines write. */
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'
import { hostPort } from '../../../net/ip.ts'
import {
  logsConnections,
  logAccepted,
  logChoice,
  logCopied,
  logDialFailed,
  logJoined,
  logLimited,
} from '../node/connection-log.ts'
import type { DescriptorBudget } from '../descriptor-budget.ts'
import type { PoolSpec } from '../relay.ts'
import { Throttle } from '../throttle.ts'
import type { OnConnection } from '../connection-report.ts'
import { parseReport } from './parse-report.ts'
import { systemError, type EngineProcess } from './engine-process.ts'

export interface EngineReportsOptions {
  readonly log: Logger
  readonly clock: Clock
  readonly descriptors: DescriptorBudget
  poolOf(this: void, slot: number): PoolSpec | undefined
  /** The last connection of a closed listener has ended. */
  onGone(this: void, slot: number): void
  /** The last connection of an endpoint that has left has ended. */
  onEndpointLeft(this: void, slot: number, generation: number): void
  readonly onConnection?: OnConnection | undefined
}

export class EngineReports {
  readonly #options: EngineReportsOptions
  /** A Service in trouble must not silence another. */
  readonly #throttles = new Map<string, Throttle>()
  #reportsConnections = false

  constructor(options: EngineReportsOptions) {
    this.#options = options
  }

  /** Makes the engine report each connection if the log shows that much. The verbosity may change at any time. */
  follow(engine: EngineProcess): void {
    const wanted = logsConnections(this.#options.log)
    if (wanted !== this.#reportsConnections) void engine.ask('follow', wanted ? 1 : 0).catch(() => {})
    this.#reportsConnections = wanted
  }

  /** A new engine reports no connections until told to. */
  startOver(): void {
    this.#reportsConnections = false
  }

  heard([what = '', ...words]: readonly string[]): void {
    const { log, onGone, onEndpointLeft, onConnection, descriptors, poolOf } = this.#options
    if (what === 'lost') return log.debug(3, 'log lines about connections were left out', { lines: Number(words[0]) })
    if (what === 'unfiltered')
      return log.warn('the native relay runs without a filter of its system calls: the kernel refused it', {
        error: systemError(Number(words[0])).code,
      })
    if (what === 'left') return onEndpointLeft(Number(words[0]), Number(words[1]))
    const [slot = '', ...rest] = words
    if (what === 'gone') {
      this.#throttles.delete(slot)
      return onGone(Number(slot))
    }
    const pool = poolOf(Number(slot))
    if (pool === undefined) return
    if (what === 'connection') return onConnection?.(parseReport(rest, pool.service))
    if (what === 'shortage') return descriptors.reportShortage(pool.service)
    if (what === 'unreachable' || what === 'accept-failed' || what === 'limited')
      this.#throttleOf(slot).run((silenced) => this.#trouble(what, pool, Number(rest[0]), silenced))
    else this.#aboutConnection(what, pool, rest)
  }

  #aboutConnection(
    what: string,
    pool: PoolSpec,
    [first = '', second = '', third = '', fourth = '', fifth = '']: readonly string[],
  ) {
    const { log } = this.#options
    const { service } = pool
    switch (what) {
      case 'accepted':
        return logAccepted(log, { remoteAddress: first, localAddress: second })
      case 'chosen': {
        const client = { ip: ipOf(first), address: first }
        const because = third === 'affinity' ? 'affinity' : 'turn'
        return logChoice(log, { service, endpoints: namesOf(pool), client, endpoint: second, because })
      }
      case 'joined':
        return logJoined(log, {
          inRemoteAddress: first,
          inLocalAddress: second,
          outLocalAddress: third,
          outRemoteAddress: fourth,
        })
      case 'copied':
        return logCopied(log, {
          service,
          client: first,
          endpoint: second,
          bytesIn: Number(third),
          bytesOut: Number(fourth),
          durationMs: Number(fifth),
        })
      case 'dial-failed':
        return logDialFailed(log, service, first, systemError(Number(second)))
      default:
        log.warn('the native relay sent an unexpected message', { what })
    }
  }

  #trouble(what: 'unreachable' | 'accept-failed' | 'limited', pool: PoolSpec, errno: number, silenced: number): void {
    const { log } = this.#options
    const { service } = pool
    if (what === 'unreachable')
      log.warn('no endpoint answered', { service, endpoints: namesOf(pool), alsoTurnedAway: silenced })
    else if (what === 'limited') logLimited(log, service, silenced)
    else log.warn('accepting a connection failed', { service, error: systemError(errno).code, silenced })
  }

  #throttleOf(slot: string): Throttle {
    const throttle = this.#throttles.get(slot) ?? new Throttle(this.#options.clock)
    this.#throttles.set(slot, throttle)
    return throttle
  }
}

function namesOf({ endpoints }: PoolSpec): readonly string[] {
  return endpoints.map(({ ip, port }) => hostPort(ip, port))
}

/** The address is `1.2.3.4:5` or `[::1]:5`. */
function ipOf(address: string): string {
  return address.slice(0, address.lastIndexOf(':')).replace(/^\[|\]$/g, '')
}
