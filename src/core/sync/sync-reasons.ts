/** Why the next sync is due: which objects changed, since when their authors wait, and what must be cleaned up after. */
import type { ObjectKey, ServiceRecord, SliceRecord } from '../../api/records.ts'
import type { SpanLink } from '../trace.ts'
import { CauseLinks } from './cause-links.ts'
import type { LinkedCauses } from './cause-links.ts'

const shownCauses = 5

interface ServiceReasons {
  /** The first object of the Service that changed. */
  readonly cause: string
  services: number
  slices: number
  triggerTimesMs: number[]
}

export class SyncReasons {
  readonly #startedAtMs: number
  readonly #byService = new Map<ObjectKey, ServiceReasons>()
  readonly #notes: string[] = []
  readonly #links = new CauseLinks()
  readonly #pending = { services: 0, slices: 0 }
  #needsConntrackCleanup = false

  constructor(startedAtMs: number) {
    this.#startedAtMs = startedAtMs
  }

  get causes(): readonly string[] {
    const causes = [...this.#notes]
    for (const { cause } of this.#byService.values()) {
      if (causes.length >= shownCauses) break
      causes.push(cause)
    }
    const hidden = this.#notes.length + this.#byService.size - causes.length
    return hidden === 0 ? causes : [...causes, `and ${hidden} more`]
  }

  get triggerTimesMs(): readonly number[] {
    return [...this.#byService.values()].flatMap(({ triggerTimesMs }) => triggerTimesMs)
  }

  /** An EndpointSlice with UDP ports changed, so the kernel may remember flows to endpoints that are gone. */
  get needsConntrackCleanup(): boolean {
    return this.#needsConntrackCleanup
  }

  /** How many Service and EndpointSlice changes wait. */
  get pending(): { readonly services: number; readonly slices: number } {
    return this.#pending
  }

  /** Something other than a Service changed, so the next sync is due even without one. */
  get hasNotes(): boolean {
    return this.#notes.length > 0
  }

  /** The events behind it all. */
  get linkedCauses(): LinkedCauses {
    return this.#links.causes
  }

  note(cause: string, links: readonly (SpanLink | undefined)[] = []): void {
    this.#notes.push(cause)
    for (const link of links) this.#links.add(cause, link)
  }

  /** The event has changed routes of the Service. */
  link(service: ObjectKey, link: SpanLink | undefined): void {
    this.#links.add(service, link)
  }

  serviceChanged(key: ObjectKey, previous: ServiceRecord | undefined, current: ServiceRecord | undefined): void {
    const reasons = this.#of(key, () => `Service ${key} ${verb(previous, current)}`)
    this.#pending.services += 1 - reasons.services
    reasons.services = 1
  }

  sliceChanged(
    key: ObjectKey,
    service: ObjectKey,
    previous: SliceRecord | undefined,
    current: SliceRecord | undefined,
  ): void {
    const reasons = this.#of(service, () => `EndpointSlice ${key} ${verb(previous, current)}`)
    reasons.slices++
    this.#pending.slices++
    this.#needsConntrackCleanup ||= hasUdpPort(previous) || hasUdpPort(current)
    if (current === undefined) reasons.triggerTimesMs = []
    else if (current.triggerTimeMs !== undefined && current.triggerTimeMs > this.#startedAtMs)
      reasons.triggerTimesMs.push(current.triggerTimeMs)
  }

  /** Nothing in the cluster changed, but what this node makes of the endpoints. */
  weighed(service: ObjectKey, cause: string): void {
    this.#of(service, () => `${cause} of ${service}`)
  }

  /** The Service's changes cancelled each other out, or do not matter on this node. */
  forget(service: ObjectKey): void {
    this.#links.forget(service)
    const reasons = this.#byService.get(service)
    if (reasons === undefined) return
    this.#pending.services -= reasons.services
    this.#pending.slices -= reasons.slices
    this.#byService.delete(service)
  }

  #of(service: ObjectKey, cause: () => string): ServiceReasons {
    let reasons = this.#byService.get(service)
    if (reasons === undefined) {
      reasons = { cause: cause(), services: 0, slices: 0, triggerTimesMs: [] }
      this.#byService.set(service, reasons)
    }
    return reasons
  }
}

function verb(previous: unknown, current: unknown): string {
  return previous === undefined ? 'added' : current === undefined ? 'deleted' : 'updated'
}

function hasUdpPort(slice: SliceRecord | undefined): boolean {
  return slice?.ports.some(({ protocol }) => protocol === 'UDP') ?? false
}
