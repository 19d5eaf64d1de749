/** Events about Fairlead and its node, as objects of events.k8s.io/v1. */

export interface ProxyEvent {
  readonly regarding: EventSubject
  readonly type: 'Normal' | 'Warning'
  /** One word for machines, e.g. `Starting`. */
  readonly reason: string
  readonly action: string
  /** A sentence for people; may be empty. */
  readonly note: string
  /** All nodes report it in the same words, so the cluster keeps one event, not one per node. */
  readonly isSameOnEveryNode?: true
}

export interface EventSubject {
  readonly apiVersion: string
  readonly kind: string
  /** Absent for cluster-scoped objects: their events are in `default`. */
  readonly namespace?: string
  readonly name: string
}

/** The same event, which may have happened many times. */
export interface Sighting {
  readonly event: ProxyEvent
  readonly firstMs: number
  readonly lastMs: number
  readonly count: number
}

export function eventsPath({ namespace = 'default' }: EventSubject): string {
  return `/apis/events.k8s.io/v1/namespaces/${namespace}/events`
}

export function renderEvent(name: string, { event, firstMs, lastMs, count }: Sighting, hostname: string): unknown {
  const { regarding, type, reason, action, note } = event
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name, namespace: regarding.namespace ?? 'default' },
    eventTime: microTime(firstMs),
    ...(count > 1 ? { series: renderSeries(count, lastMs) } : {}),
    reportingController: 'fairlead',
    reportingInstance: `fairlead-${hostname}`.slice(0, longestNameChars),
    regarding,
    type,
    reason,
    action,
    note: shorten(note),
  }
}

export function renderSeries(count: number, lastMs: number): unknown {
  return { count, lastObservedTime: microTime(lastMs) }
}

/** The API server refuses anything longer. */
const longestNameChars = 128
const longestNoteBytes = 1024

/** The API server's MicroTime wants exactly six digits. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z')
}

function shorten(note: string): string {
  const bytes = Buffer.from(note)
  if (bytes.length <= longestNoteBytes) return note
  const kept = bytes.subarray(0, longestNoteBytes - 3).toString('utf8')
  return `${kept.replace(/\uFFFD+$/, '')}…`
}
