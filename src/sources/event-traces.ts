/**
 * A trace for each event that a source delivers: what the object was, and what became of it. The first list is one event,
 * however many objects it has. Of a later list each object that differs is one, up to a number.
 */
import type { ObjectKey, ObjectKind } from '../api/records.ts'
import type { Clock } from '../core/clock.ts'
import type { EventVerb, ObjectEvent } from '../core/object-event.ts'
import { noSpan, noTracer } from '../core/trace.ts'
import type { Span, SpanAttributes, SpanContext, SpanLink, Tracer } from '../core/trace.ts'

export interface EventTracing {
  readonly tracer: Tracer
  readonly clock: Pick<Clock, 'now'>
  /** `kubernetes`, `files`, `kpng`. */
  readonly source: string
}

const untraced: EventTracing = { tracer: noTracer, clock: { now: () => 0 }, source: '' }

/** A later list with more differences than this tells of the others in one event. */
const mostOfOneList = 100

const listNames: Readonly<Partial<Record<ObjectKind, string>>> = {
  Service: 'OnServiceSynced',
  EndpointSlice: 'OnEndpointSlicesSynced',
}

interface Subject {
  readonly kind: ObjectKind
  readonly key: ObjectKey
  readonly verb: Exclude<EventVerb, 'List'>
  readonly resourceVersion: string | undefined
}

export class EventTraces {
  readonly #tracing: EventTracing

  constructor(tracing: EventTracing = untraced) {
    this.#tracing = tracing
  }

  /** One object. `parent`: what another process did to tell of it. */
  begin(subject: Subject, parent?: SpanContext): ObjectEvent {
    const { kind, key, verb, resourceVersion } = subject
    const { tracer, clock, source } = this.#tracing
    const span = tracer.start(eventName(kind, verb), { parent })
    if (span.isRecorded) {
      const [place = '', own] = key.split('/')
      span.set({
        'k8s.resource_version': resourceVersion,
        'fairlead.source': source,
        'k8s.namespace.name': own === undefined ? undefined : place,
        [nameAttributes[kind]]: own ?? place,
      })
    }
    if (span === noSpan) return { span, kind, verb, link: undefined }
    return new TracedEvent(span, subject, clock.now())
  }

  /** A list of all objects of a kind; undefined for those that nobody waits for. */
  beginList(kind: ObjectKind, objects: number): ObjectEvent | undefined {
    const name = listNames[kind]
    if (name === undefined) return undefined
    const { source, tracer } = this.#tracing
    const span = tracer.start(name, { attributes: { objects, 'fairlead.source': source } })
    return {
      span,
      kind,
      verb: 'List',
      link: this.#linkTo(span.context, { event: name, object: `${objects} ${kind}s` }),
    }
  }

  /** For a list after the first: gives each change an event of its own, and the last ones one together. */
  ofLaterList(kind: ObjectKind, objects: number, versionOf: (key: ObjectKey) => string | undefined): LaterList {
    let changes = 0
    let shared: ObjectEvent | undefined
    const begun: ObjectEvent[] = []
    return {
      begun,
      eventOf: (key, verb) => {
        if (++changes > mostOfOneList && listNames[kind] !== undefined) {
          if (shared === undefined) begun.push((shared = this.beginList(kind, objects)!))
          shared.span.set({ changed: changes - mostOfOneList })
          return shared
        }
        const event = this.begin({ kind, key, verb, resourceVersion: versionOf(key) })
        event.span.set({ changed: true })
        begun.push(event)
        return event
      },
    }
  }

  #linkTo(context: SpanContext | undefined, attributes: SpanAttributes): ObjectEvent['link'] {
    return context && { context, attributes: { ...attributes, received_ms: this.#tracing.clock.now() } }
  }
}

/** Is the link to itself, too. There is one for each event, and hardly any is ever looked at. */
class TracedEvent implements ObjectEvent, SpanLink {
  readonly span: Span
  readonly #subject: Subject
  readonly #receivedMs: number

  constructor(span: Span, subject: Subject, receivedMs: number) {
    this.span = span
    this.#subject = subject
    this.#receivedMs = receivedMs
  }

  get kind(): ObjectKind {
    return this.#subject.kind
  }

  get verb(): EventVerb {
    return this.#subject.verb
  }

  get link(): SpanLink {
    return this
  }

  get context(): SpanContext {
    return this.span.context!
  }

  get attributes(): SpanAttributes {
    const { kind, key, verb, resourceVersion } = this.#subject
    return {
      event: eventName(kind, verb),
      object: `${kind} ${key}`,
      'k8s.resource_version': resourceVersion,
      received_ms: this.#receivedMs,
    }
  }

  toJSON(): SpanLink {
    return { context: this.context, attributes: this.attributes }
  }
}

function eventName(kind: ObjectKind, verb: EventVerb): string {
  return `On${kind}${verb}`
}

export interface LaterList {
  readonly begun: readonly ObjectEvent[]
  readonly eventOf: (key: ObjectKey, verb: Subject['verb']) => ObjectEvent
}

const nameAttributes: Readonly<Record<ObjectKind, string>> = {
  Service: 'k8s.service.name',
  EndpointSlice: 'k8s.endpointslice.name',
  Node: 'k8s.node.name',
  ServiceCIDR: 'k8s.servicecidr.name',
  Namespace: 'k8s.namespace.name',
}
