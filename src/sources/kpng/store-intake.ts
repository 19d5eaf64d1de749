/**
 * Takes Kubernetes objects into KPNG's global model. They pass the same door as everywhere else: what is wrong with an
 * object is said once, and a bad version of a good object leaves the good one in place.
 */
import type { JsonObject } from '../../api/json-reader.ts'
import { isJsonObject } from '../../api/json-reader.ts'
import type { ObjectKey, ObjectKind, Parsed, RecordOf } from '../../api/records.ts'
import { objectKey } from '../../api/records.ts'
import { clusterNode, clusterService } from '../../kpng/model/cluster-model.ts'
import { labelFilter } from '../../kpng/model/label-globs.ts'
import { readNode } from '../../kpng/model/read-node.ts'
import { readService } from '../../kpng/model/read-service.ts'
import { readSlice } from '../../kpng/model/read-slice.ts'
import type { GlobalStore } from '../../kpng/store/global-store.ts'
import type { ObjectEvent } from '../../core/object-event.ts'
import type { SpanContext } from '../../core/trace.ts'
import { EventTraces } from '../event-traces.ts'
import type { EventTracing } from '../event-traces.ts'
import type { Intake } from '../intake.ts'
import type { KindSink } from '../kind-sink.ts'

export interface StoreIntakeOptions {
  readonly store: GlobalStore
  /** Parses and reports; nothing is delivered to its Catalog. */
  readonly intake: Intake
  readonly globs: TravellingKeys
  /** Absent: nobody records what arrives. */
  readonly tracing?: EventTracing & {
    /** Whether the trace goes to a collector: otherwise there is nothing that a follower could be part of. */
    readonly isSent: (context: SpanContext) => boolean
  }
}

/** Glob patterns of the labels and annotations that are part of the model. */
export interface TravellingKeys {
  readonly serviceLabels: readonly string[]
  readonly serviceAnnotations: readonly string[]
  readonly nodeLabels: readonly string[]
  readonly nodeAnnotations: readonly string[]
}

/** One object, as far as it is good: `put` takes it into the store. */
interface Item {
  readonly parsed: Parsed<RecordOf<ObjectKind>>
  readonly key: ObjectKey | undefined
  put(): void
}

/** What differs between the kinds. */
interface KindAccess {
  /** Reads what the store needs, at once: a list must not be held as raw JSON. The answer takes it into the store. */
  prepare(parsed: Parsed<RecordOf<ObjectKind>>, raw: JsonObject): () => void
  keys(): Iterable<string>
  has(key: string): boolean
  remove(key: string): void
  synced(): void
}

export class StoreIntake {
  readonly #options: StoreIntakeOptions
  readonly #access: Readonly<Record<ObjectKind, KindAccess>>
  readonly #traces: EventTraces

  constructor(options: StoreIntakeOptions) {
    this.#options = options
    this.#traces = new EventTraces(options.tracing)
    this.#access = kindAccess(options)
  }

  sink(kind: ObjectKind): KindSink<Item> {
    const access = this.#access[kind]
    const door: KindSink<Parsed<RecordOf<ObjectKind>>> = this.#options.intake.sink(kind)
    return {
      read: (object) => {
        const parsed = door.read(object)
        const key = parsed.ok ? objectKey(parsed.record) : parsed.key
        return { parsed, key, put: isJsonObject(object) ? access.prepare(parsed, object) : ignore }
      },
      replace: (items) => {
        const listed = new Set<string | undefined>(items.map(({ key }) => key))
        this.#recorded(this.#traces.beginList(kind, items.length), () => {
          for (const key of access.keys()) if (!listed.has(key)) access.remove(key)
          for (const item of items) item.put()
          access.synced()
        })
      },
      upsert: (item) => {
        const verb = item.key !== undefined && access.has(item.key) ? 'Update' : 'Add'
        this.#recorded(this.#begin(kind, item, verb), () => item.put())
      },
      remove: (item) => {
        this.#recorded(this.#begin(kind, item, 'Delete'), () => {
          if (item.key !== undefined) access.remove(item.key)
        })
        door.remove(item.parsed)
      },
    }
  }

  #begin(kind: ObjectKind, { key, parsed }: Item, verb: 'Add' | 'Update' | 'Delete'): ObjectEvent | undefined {
    if (this.#options.tracing === undefined || key === undefined || !tracedKinds.has(kind)) return undefined
    return this.#traces.begin({ kind, key, verb, resourceVersion: parsed.ok ? parsed.resourceVersion : undefined })
  }

  /** Followers get the event's context with what it changes, so that what they do belongs to the same trace. */
  #recorded(event: ObjectEvent | undefined, change: () => void): void {
    if (event === undefined) return change()
    const { store, tracing } = this.#options
    const { span } = event
    const inStore = span.child('store')
    const isSent = span.context !== undefined && tracing?.isSent(span.context) === true
    const changed = store.caused(isSent ? span.context : undefined, change)
    inStore.set({ changed })
    inStore.end()
    span.set({ changed })
    span.end()
  }
}

/** Nodes say that they are well all the time; nobody looks for that in traces. */
const tracedKinds: ReadonlySet<ObjectKind> = new Set(['Service', 'EndpointSlice'])

function ignore(): void {}

/** Nothing of it is in the protocol. */
const unused: KindAccess = { prepare: () => ignore, keys: () => [], has: () => true, remove() {}, synced() {} }

function kindAccess({ store, globs }: StoreIntakeOptions): Readonly<Record<ObjectKind, KindAccess>> {
  const serviceFilters = {
    labels: labelFilter(globs.serviceLabels),
    annotations: labelFilter(globs.serviceAnnotations),
  }
  const nodeFilters = { labels: labelFilter(globs.nodeLabels), annotations: labelFilter(globs.nodeAnnotations) }
  return {
    Service: {
      prepare(parsed, raw) {
        if (!parsed.ok || parsed.record.kind !== 'Service') return ignore
        const service = clusterService(readService(parsed.record, raw, serviceFilters))
        return () => store.setService(service)
      },
      keys: () => store.servicePaths(),
      has: (key) => store.hasService(key),
      remove: (key) => store.deleteService(key),
      synced: () => store.markSynced('services'),
    },
    EndpointSlice: {
      prepare(parsed, raw) {
        if (parsed.ok && parsed.record.kind === 'EndpointSlice') {
          const source = readSlice(parsed.record, raw)
          return () => store.replaceSource(source)
        }
        // Without the label that names its Service a slice is nobody's, whatever it was before.
        const { key } = parsed.ok ? { key: undefined } : parsed
        return key !== undefined && !namesService(raw) ? () => removeSource(key) : ignore
      },
      keys: () => [...store.sources()].map(([id]) => id),
      has: (key) => store.hasSource(key),
      remove: removeSource,
      synced: () => store.markSynced('endpoints'),
    },
    Node: {
      prepare(parsed, raw) {
        if (!parsed.ok || parsed.record.kind !== 'Node') return ignore
        const node = clusterNode(readNode(parsed.record, raw, nodeFilters))
        return () => store.setNode(node)
      },
      keys: () => store.nodeNames(),
      has: () => true,
      remove: (key) => store.deleteNode(key),
      synced: () => store.markSynced('nodes'),
    },
    ServiceCIDR: unused,
    Namespace: unused,
  }

  function removeSource(key: string): void {
    const slash = key.indexOf('/')
    store.deleteSource(key.slice(0, slash), key.slice(slash + 1))
  }
}

function namesService(raw: JsonObject): boolean {
  const metadata = isJsonObject(raw['metadata']) ? raw['metadata'] : {}
  const labels = isJsonObject(metadata['labels']) ? metadata['labels'] : {}
  return typeof labels['kubernetes.io/service-name'] === 'string' && labels['kubernetes.io/service-name'] !== ''
}
