/** What is noted of one TCP connection that is to be reported. */
import type { Clock } from '../../../core/clock.ts'
import type { DialAttempt, TcpReport, TcpResult } from '../connection-report.ts'
import type { Choice } from './balancer.ts'
import type { RelayParts } from './relay-parts.ts'
import type { CopyNotes, TcpConnection } from './tcp-connection.ts'

/** What is known of every connection, also of one that is noted only once it has failed. */
export interface Accepted {
  readonly service: string
  readonly client: string
  readonly local: string
  readonly acceptedAtMs: number
}

interface Dial {
  readonly choice: Choice
  /** How many there were to choose from. */
  readonly endpoints: number
  readonly timeoutMs: number
  readonly startMs: number
}

interface Copied {
  readonly bytesIn: number
  readonly bytesOut: number
  readonly inEndedAtMs: number | undefined
  readonly outEndedAtMs: number | undefined
  readonly error: string | undefined
}

/** Times are monotonic until they are told. */
export class TcpRecord {
  readonly #parts: RelayParts
  readonly #accepted: Accepted
  readonly #id: string
  readonly #attempts: DialAttempt[] = []
  #dialling: Omit<DialAttempt, 'endMs'> | undefined
  #joinedAtMs: number | undefined
  readonly #over = new AbortController()

  constructor(accepted: Accepted, parts: RelayParts) {
    this.#accepted = accepted
    this.#parts = parts
    this.#id = parts.reports.nextId()
  }

  chosen({ choice: { name, because }, ...dial }: Dial): void {
    this.#dialling = { endpoint: name, isSticky: because === 'affinity', ...dial }
  }

  dialled(error?: string): void {
    if (this.#dialling === undefined) return
    const endMs = this.#parts.clock.monotonic()
    this.#attempts.push({ ...this.#dialling, endMs, ...(error !== undefined && { error }) })
    this.#dialling = undefined
  }

  /** From now on it is told now and then that the connection is open. */
  joined(copied: () => Copied): void {
    const { clock, settings } = this.#parts
    this.#joinedAtMs = clock.monotonic()
    const { signal } = this.#over
    const tell = (): void =>
      void clock.sleep(settings.reportEveryMs, signal).then(
        () => {
          this.#tell('connected', copied(), false)
          tell()
        },
        () => {},
      )
    tell()
  }

  ended(result: TcpResult, copied?: Copied): void {
    this.#over.abort()
    this.dialled()
    this.#tell(result, copied, true)
  }

  #tell(result: TcpResult, copied: Copied | undefined, hasEnded: boolean): void {
    const { clock, reports } = this.#parts
    const { acceptedAtMs, service, client, local } = this.#accepted
    const wall = wallClock(clock)
    const report: TcpReport = {
      protocol: 'TCP',
      id: this.#id,
      hasEnded,
      service,
      client,
      local,
      startMs: wall(acceptedAtMs),
      endMs: wall(clock.monotonic()),
      result,
      attempts: this.#attempts.map((one) => ({ ...one, startMs: wall(one.startMs), endMs: wall(one.endMs) })),
      ...(copied !== undefined &&
        this.#joinedAtMs !== undefined && { copying: copying(copied, this.#joinedAtMs, wall) }),
    }
    reports.tell(report)
  }
}

/** When each direction of a connection ended, and why. */
export class CopyTimes implements CopyNotes {
  readonly #clock: Clock
  readonly #endedAtMs: { in?: number; out?: number } = {}
  #error: string | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  ended(direction: 'in' | 'out'): void {
    this.#endedAtMs[direction] ??= this.#clock.monotonic()
  }

  broke(why: string): void {
    this.#error ??= why
  }

  copied({ bytesIn, bytesOut }: TcpConnection): Copied {
    const { in: inEndedAtMs, out: outEndedAtMs } = this.#endedAtMs
    return { bytesIn, bytesOut, inEndedAtMs, outEndedAtMs, error: this.#error }
  }
}

function copying(
  copied: Copied,
  joinedAtMs: number,
  wall: (atMs: number) => number,
): NonNullable<TcpReport['copying']> {
  const { bytesIn, bytesOut, inEndedAtMs, outEndedAtMs, error } = copied
  return {
    startMs: wall(joinedAtMs),
    bytesIn,
    bytesOut,
    ...(inEndedAtMs !== undefined && { inEndMs: wall(inEndedAtMs) }),
    ...(outEndedAtMs !== undefined && { outEndMs: wall(outEndedAtMs) }),
    ...(error !== undefined && { error }),
  }
}

/** What the wall clock showed, as it goes now. */
export function wallClock(clock: Clock): (monotonicMs: number) => number {
  const offset = clock.now() - clock.monotonic()
  return (monotonicMs) => monotonicMs + offset
}
