/** One watch request and its events, with time limits that tell a quiet server from a dead one. */
import { abortable } from '../abortable.ts'
import { JsonLines } from './json-lines.ts'
import type { KubeClient } from '../kube-client.ts'
import { KubeError } from '../kube-error.ts'
import { asObject, asString } from '../unchecked-json.ts'
import type { ResourceQuery } from './resource-query.ts'
import { errorFromStatusObject } from '../status-error.ts'
import { Watchdog } from '../watchdog.ts'

type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'

export interface WatchEvent {
  readonly type: WatchEventType
  readonly object: unknown
  /** `namespace/name`, or `name`. */
  readonly key: string | undefined
  readonly version: string | undefined
  /** This bookmark says that all objects which existed at the time of the request have been sent. */
  readonly endsInitialEvents: boolean
}

export type WatchStart =
  | { readonly kind: 'version'; readonly version: string }
  /** First all objects as ADDED events, not older than the version (empty: the newest), then such a bookmark. */
  | { readonly kind: 'initial-events'; readonly notOlderThan: string }

export interface WatchRequest {
  readonly client: KubeClient
  readonly query: ResourceQuery
  readonly start: WatchStart
  /** Until then the answer waits to be read. */
  readonly mayRead?: Promise<unknown> | undefined
  /** The server ends the watch after this time. */
  readonly timeoutSeconds: number
  readonly onOpen: () => void
  readonly onBytes: () => void
  /** False ends the watch. What it throws does, too. */
  readonly onEvent: (event: WatchEvent) => boolean
}

/** The first answer must begin within this time. */
const answerLimitMs = 30_000
/** How much longer than agreed a server may keep a watch open. */
const graceMs = 30_000
/** Servers send bookmarks about once a minute. One that stops is gone. */
const bookmarkSilenceMs = 150_000
/** Silence before the initial events have ended means that the server does not know streaming lists. */
const initialSilenceMs = 10_000
const initialLimitMs = 60_000

/** Resolves when the server ends the watch, or `onEvent` does; rejects with a KubeError for all other endings. */
export async function watchEvents(request: WatchRequest, signal: AbortSignal): Promise<void> {
  const { client, query, start, timeoutSeconds } = request
  const { clock } = client
  const doing = `watch ${query.path}`
  const isInitial = start.kind === 'initial-events'
  using total = new Watchdog({
    clock,
    limitMs: isInitial ? initialLimitMs : timeoutSeconds * 1000 + graceMs,
    message: isInitial ? `${doing}: the initial events did not end` : `${doing}: the server kept the watch open`,
    parent: signal,
  })
  using silence = new Watchdog({
    clock,
    limitMs: answerLimitMs,
    message: `${doing}: the server sent nothing`,
    parent: total.signal,
  })
  const body = await client.stream({ path: query.path, query: watchParameters(request) }, silence.signal)
  request.onOpen()
  if (request.mayRead !== undefined) await abortable(request.mayRead, silence.signal)
  silence.setLimit(isInitial ? initialSilenceMs : Infinity)
  const lines = new JsonLines(doing)
  const onLine = (line: unknown) => {
    const event = parseEvent(line, doing)
    if (event.endsInitialEvents) total.setLimit(timeoutSeconds * 1000 + graceMs)
    if (event.type === 'BOOKMARK') silence.setLimit(bookmarkSilenceMs)
    return request.onEvent(event)
  }
  await body.forEach((chunk) => {
    silence.feed()
    request.onBytes()
    return lines.push(chunk, onLine)
  })
}

function watchParameters({
  query,
  start,
  timeoutSeconds,
}: WatchRequest): Record<string, string | number | boolean | undefined> {
  return {
    watch: true,
    allowWatchBookmarks: true,
    timeoutSeconds,
    labelSelector: query.labelSelector,
    fieldSelector: query.fieldSelector,
    ...(start.kind === 'version'
      ? { resourceVersion: start.version }
      : {
          sendInitialEvents: true,
          resourceVersionMatch: 'NotOlderThan',
          resourceVersion: start.notOlderThan === '' ? undefined : start.notOlderThan,
        }),
  }
}

function parseEvent(line: unknown, doing: string): WatchEvent {
  const { type, object } = asObject(line)
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK': {
      const metadata = asObject(asObject(object)['metadata'])
      return {
        type,
        object,
        key: keyOf(metadata),
        version: asString(metadata['resourceVersion']),
        endsInitialEvents:
          type === 'BOOKMARK' && asObject(metadata['annotations'])['k8s.io/initial-events-end'] === 'true',
      }
    }
    case 'ERROR':
      throw errorFromStatusObject(doing, object)
    default:
      throw new KubeError('protocol', `${doing}: an event of unknown type ${JSON.stringify(type)}`)
  }
}

function keyOf(metadata: Readonly<Record<string, unknown>>): string | undefined {
  const name = asString(metadata['name'])
  const namespace = asString(metadata['namespace'])
  return name === undefined || namespace === undefined ? name : `${namespace}/${name}`
}
