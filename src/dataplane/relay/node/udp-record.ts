/** What is noted of one UDP client that is to be reported. */
import type { UdpEnd, UdpReport } from '../connection-report.ts'
import type { RelayParts } from './relay-parts.ts'
import { wallClock } from './tcp-record.ts'

export type UdpClientFacts = Pick<UdpReport, 'service' | 'client' | 'local' | 'endpoint'>

export class UdpRecord {
  readonly #parts: RelayParts
  readonly #facts: UdpClientFacts
  readonly #id: string
  readonly #startedAtMs: number
  readonly #over = new AbortController()
  readonly #counts = { datagramsIn: 0, datagramsOut: 0, bytesIn: 0, bytesOut: 0 }

  constructor(facts: UdpClientFacts, parts: RelayParts) {
    this.#facts = facts
    this.#parts = parts
    this.#id = parts.reports.nextId()
    this.#startedAtMs = parts.clock.monotonic()
    this.#tellNowAndThen()
  }

  received(bytes: number): void {
    this.#counts.datagramsIn++
    this.#counts.bytesIn += bytes
  }

  answered(bytes: number): void {
    this.#counts.datagramsOut++
    this.#counts.bytesOut += bytes
  }

  ended(why: UdpEnd): void {
    this.#over.abort()
    this.#tell(why)
  }

  #tellNowAndThen(): void {
    const { clock, settings } = this.#parts
    clock.sleep(settings.reportEveryMs, this.#over.signal).then(
      () => {
        this.#tell('open')
        this.#tellNowAndThen()
      },
      () => {},
    )
  }

  #tell(endReason: UdpReport['endReason']): void {
    const { clock, reports } = this.#parts
    const wall = wallClock(clock)
    reports.tell({
      protocol: 'UDP',
      id: this.#id,
      hasEnded: endReason !== 'open',
      ...this.#facts,
      startMs: wall(this.#startedAtMs),
      endMs: wall(clock.monotonic()),
      ...this.#counts,
      endReason,
    })
  }
}
