/**
 * Between every source and the Catalog. Objects are parsed as they arrive, and each problem is logged once, with the
 * object, the field and the reason. A bad object never stops the others. A bad version of a good object leaves the good
 * one in place.
 */
import { parseObject } from '../api/parse.ts'
import type { ObjectKey, ObjectKind, ObjectRecord, Parsed, Problem, RecordOf } from '../api/records.ts'
import { objectKey } from '../api/records.ts'
import type { Catalog, EventOf } from '../core/catalog.ts'
import type { Logger } from '../core/logger.ts'
import type { ObjectEvent } from '../core/object-event.ts'
import type { ProxyMetrics } from '../core/proxy-metrics.ts'
import { EventTraces } from './event-traces.ts'
import type { EventTracing } from './event-traces.ts'
import type { RecordIntake, RecordSink } from './kind-sink.ts'

export interface IntakeOptions {
  readonly catalog: Catalog
  readonly log: Logger
  readonly metrics: Pick<ProxyMetrics, 'objectProblem'>
  /** Absent: nobody records what arrives. */
  readonly tracing?: EventTracing
}

export class Intake implements RecordIntake {
  readonly #options: IntakeOptions
  /** What was logged last about each object, so that a relist does not repeat it. */
  readonly #reportedByObject = new Map<string, string>()

  readonly #traces: EventTraces
  readonly #listedKinds = new Set<ObjectKind>()

  constructor(options: IntakeOptions) {
    this.#options = options
    this.#traces = new EventTraces(options.tracing)
  }

  sink<K extends ObjectKind>(kind: K): RecordSink<K> {
    const { catalog } = this.#options
    return {
      report: (parsed) => this.#report(kind, parsed),
      read: (object) => {
        const parsed = parseObject(kind, object)
        this.#report(kind, parsed)
        return parsed
      },
      // Of the other kinds there are few. Once there was a complete list, only the next one says what holds.
      foresee: (item) => {
        if (item.ok && isOfMany(kind) && !catalog.hasListed(kind)) catalog.upsert(item.record)
      },
      replace: (items) => {
        const records: RecordOf<K>[] = []
        for (const item of items) {
          const record = item.ok ? item.record : item.key && catalog.get(kind, item.key)
          if (record !== undefined) records.push(record)
        }
        this.#replace(kind, records, items)
        this.#forgetAllBut(kind, items)
      },
      upsert: (item, cause) => {
        if (!item.ok) return
        const { record, resourceVersion } = item
        const key = objectKey(record)
        const verb = catalog.get(kind, key) === undefined ? 'Add' : 'Update'
        const event = this.#traces.begin({ kind, key, verb, resourceVersion }, cause)
        recorded(event, (eventOf) => catalog.upsert(record, eventOf))
      },
      remove: (item, cause) => {
        const key = item.ok ? objectKey(item.record) : item.key
        if (key === undefined) return
        const resourceVersion = item.ok ? item.resourceVersion : undefined
        const event = this.#traces.begin({ kind, key, verb: 'Delete', resourceVersion }, cause)
        recorded(event, (eventOf) => catalog.remove(kind, key, eventOf))
        this.#reportedByObject.delete(`${kind} ${key}`)
      },
    }
  }

  #replace<K extends ObjectKind>(
    kind: K,
    records: readonly RecordOf<K>[],
    items: readonly Parsed<RecordOf<K>>[],
  ): void {
    const { catalog } = this.#options
    if (this.#listedKinds.has(kind)) {
      const list = this.#traces.ofLaterList(kind, records.length, versionsIn(items))
      catalog.replace(kind, records, list.eventOf)
      for (const event of list.begun) endWhenRouted(event)
      return
    }
    this.#listedKinds.add(kind)
    const list = this.#traces.beginList(kind, records.length)
    catalog.replace(kind, records, () => list, list)
    if (list === undefined) return
    list.span.set({ initialized: catalog.isInitialised })
    endWhenRouted(list)
  }

  #forgetAllBut<K extends ObjectKind>(kind: K, items: readonly Parsed<RecordOf<K>>[]): void {
    if (this.#reportedByObject.size === 0) return
    const listed = new Set(items.map((item) => identityOf(kind, item)))
    for (const object of this.#reportedByObject.keys())
      if (object.startsWith(`${kind} `) && !listed.has(object)) this.#reportedByObject.delete(object)
  }

  #report<K extends ObjectKind>(kind: K, parsed: Parsed<RecordOf<K>>): void {
    const [first] = parsed.problems
    const object = identityOf(kind, parsed)
    if (first === undefined) {
      this.#reportedByObject.delete(object)
      return
    }
    const said = summaryOf(parsed.problems)
    if (this.#reportedByObject.get(object) === said) return
    this.#reportedByObject.set(object, said)
    this.#options.metrics.objectProblem(kind)
    const message = parsed.ok ? 'part of an object is ignored' : 'object is ignored'
    this.#options.log.warn(message, { object, ...problemFields(first, parsed.problems.length - 1) })
  }
}

function isOfMany(kind: ObjectKind): boolean {
  return kind === 'Service' || kind === 'EndpointSlice'
}

function recorded(event: ObjectEvent, change: (eventOf: EventOf) => void): void {
  const inCatalog = event.span.child('catalog')
  let changed = false
  change(() => {
    changed = true
    return event
  })
  inCatalog.set({ changed })
  inCatalog.end()
  event.span.set({ changed })
  endWhenRouted(event)
}

/** Whoever heard of the change has asked for a microtask before us. */
function endWhenRouted({ span }: ObjectEvent): void {
  queueMicrotask(() => span.end())
}

/** Collected only when an object of a later list differs. */
function versionsIn(items: readonly Parsed<ObjectRecord>[]): (key: ObjectKey) => string | undefined {
  let versions: Map<ObjectKey, string | undefined> | undefined
  return (key) => {
    versions ??= new Map(items.flatMap((item) => (item.ok ? [[objectKey(item.record), item.resourceVersion]] : [])))
    return versions.get(key)
  }
}

/**
 * Identifies a report. It is short, so that an object with ten thousand problems does not take memory for all of them.
 */
function summaryOf(problems: readonly Problem[]): string {
  const first = problems.slice(0, 10).map(({ field, reason }) => `${field} ${reason}`)
  return [...first, problems.length].join('; ')
}

function problemFields({ field, reason }: Problem, more: number): Record<string, unknown> {
  return more === 0 ? { field, reason } : { field, reason, moreProblems: more }
}

/** For an object without a usable name, the name it gave. */
function identityOf(kind: ObjectKind, parsed: Parsed<ObjectRecord>): string {
  return `${kind} ${parsed.ok ? objectKey(parsed.record) : (parsed.key ?? parsed.problems[0]?.key)}`
}
