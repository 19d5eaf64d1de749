/** New endpoints get their share in ten steps (fairlead.dev/slow-start). Those that were there at our start are not new. */
import type { ObjectKey, SliceRecord } from '../../api/records.ts'
import { Agenda } from '../agenda.ts'
import type { Clock } from '../clock.ts'

const steps = 10

export interface SlowStartsOptions {
  readonly clock: Clock
  /** Some endpoint of the Service gets more from now on. */
  readonly onStep: (service: ObjectKey) => void
}

export class SlowStarts {
  readonly #options: SlowStartsOptions
  /** When each endpoint became ready, by its address. */
  readonly #startsByService = new Map<ObjectKey, Map<string, number>>()
  readonly #agenda: Agenda<ObjectKey>

  constructor(options: SlowStartsOptions) {
    this.#options = options
    this.#agenda = new Agenda(options.clock)
  }

  /** Undefined: all have their full share. */
  of(
    service: ObjectKey,
    durationMs: number,
    slices: readonly SliceRecord[],
  ): ((weight: number, ip: string) => number) | undefined {
    const now = this.#options.clock.monotonic()
    const starts = this.#startsOf(service, slices, now)
    const stepMs = durationMs / steps
    const stepOf = (ip: string) => Math.min(steps, Math.floor((now - (starts.get(ip) ?? now)) / stepMs) + 1)
    let nextInMs = Infinity
    for (const [ip, start] of starts)
      if (stepOf(ip) < steps) nextInMs = Math.min(nextInMs, start + stepOf(ip) * stepMs - now)
    if (nextInMs === Infinity) {
      this.#agenda.delete(service)
      return undefined
    }
    this.#agenda.set(service, nextInMs)
    return (weight, ip) => weight * stepOf(ip)
  }

  forget(service: ObjectKey): void {
    if (this.#startsByService.delete(service)) this.#agenda.delete(service)
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#agenda.run(this.#options.onStep, signal)
  }

  #startsOf(service: ObjectKey, slices: readonly SliceRecord[], now: number): ReadonlyMap<string, number> {
    const known = this.#startsByService.get(service)
    const starts = new Map<string, number>()
    for (const { endpoints } of slices)
      for (const { ip, ready } of endpoints)
        if (ready) starts.set(ip, known === undefined ? -Infinity : (known.get(ip) ?? now))
    this.#startsByService.set(service, starts)
    return starts
  }
}
