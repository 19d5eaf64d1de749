/** What the native engine says without being asked becomes log lines: the same that the other engines write. */
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'
import { hostPort } from '../../../net/ip.ts'
import { isFollowed, logAccepted, logChoice, logCopied, logDialFailed, logJoined } from '../connection-log.ts'
import type { DescriptorBudget } from '../descriptor-budget.ts'
import type { PoolSpec } from '../relay.ts'
import { Throttle } from '../throttle.ts'
import { systemError, type EngineProcess } from './engine-process.ts'

export interface EngineReportsOptions {
  readonly log: Logger
  readonly clock: Clock
  readonly descriptors: DescriptorBudget
  /** What the listener in this slot leads to. */
  poolOf(this: void, slot: number): PoolSpec | undefined
  /** The last connection of a closed listener has ended. */
  onGone(this: void, slot: number): void
}

export class EngineReports {
  readonly #options: EngineReportsOptions
  readonly #unreachable: Throttle
  readonly #acceptFailed: Throttle
  #isFollowed = false

  constructor(options: EngineReportsOptions) {
    this.#options = options
    this.#unreachable = new Throttle(options.clock)
    this.#acceptFailed = new Throttle(options.clock)
  }

  /** Lets the engine tell of each connection when somebody wants to know; the verbosity may change at any time. */
  follow(engine: EngineProcess): void {
    const wanted = isFollowed(this.#options.log)
    if (wanted !== this.#isFollowed) void engine.ask('follow', wanted ? 1 : 0).catch(() => {})
    this.#isFollowed = wanted
  }

  /** A new engine follows nobody. */
  startOver(): void {
    this.#isFollowed = false
  }

  heard([what = '', ...words]: readonly string[]): void {
    const { log, onGone, descriptors, poolOf } = this.#options
    if (what === 'lost') return log.debug(3, 'lines about connections were left out', { lines: Number(words[0]) })
    const [slot = '', ...rest] = words
    if (what === 'gone') return onGone(Number(slot))
    const pool = poolOf(Number(slot))
    if (pool === undefined) return
    if (what === 'shortage') return descriptors.reportShortage(pool.service)
    this.#aboutConnection(what, pool, rest)
  }

  #aboutConnection(
    what: string,
    pool: PoolSpec,
    [first = '', second = '', third = '', fourth = '', fifth = '']: readonly string[],
  ) {
    const { log } = this.#options
    const { service } = pool
    const endpoints = () => pool.endpoints.map(({ ip, port }) => hostPort(ip, port))
    switch (what) {
      case 'accepted':
        return logAccepted(log, { remoteAddress: first, localAddress: second })
      case 'chosen': {
        const client = { ip: ipOf(first), address: first }
        const because = third === 'affinity' ? 'affinity' : 'turn'
        return logChoice(log, { service, endpoints: endpoints(), client, endpoint: second, because })
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
      case 'unreachable':
        return this.#unreachable.run((silenced) =>
          log.warn('no endpoint answered', { service, endpoints: endpoints(), alsoTurnedAway: silenced }),
        )
      case 'accept-failed':
        return this.#acceptFailed.run((silenced) =>
          log.warn('accepting a connection failed', { service, error: systemError(Number(first)).code, silenced }),
        )
      default:
        log.warn('the native relay said something unexpected', { what })
    }
  }
}

/** Of `1.2.3.4:5` or `[::1]:5`. */
function ipOf(address: string): string {
  return address.slice(0, address.lastIndexOf(':')).replace(/^\[|\]$/g, '')
}
