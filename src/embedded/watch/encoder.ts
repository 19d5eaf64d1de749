/** Renders events as lines, in the form that the client asked for. */
import type { Kind } from '../verbs/kinds.ts'
import { metadataOnly, renderTable } from '../verbs/tables.ts'
import type { TableStyle } from '../verbs/tables.ts'
import type { ApiError } from '../status.ts'
import { statusOf } from '../status.ts'
import { renderLine } from './events.ts'
import type { EventLines, WatchEvent } from './events.ts'

export interface WatchEncoder {
  event(event: WatchEvent): Buffer | string
  bookmark(revision: number, endsInitialEvents: boolean): string
}

export function errorLine(error: ApiError): string {
  return renderLine('ERROR', JSON.stringify(statusOf(error)))
}

export function objectEncoder(kind: Kind, lines: EventLines): WatchEncoder {
  return {
    event: (event) => lines.lineOf(event),
    bookmark: (revision, endsInitialEvents) =>
      renderLine('BOOKMARK', JSON.stringify(bookmarkObject(kind, revision, endsInitialEvents))),
  }
}

export function metadataEncoder(apiVersion: string): WatchEncoder {
  return {
    event: ({ type, presented }) => renderLine(type, JSON.stringify(metadataOnly(presented.object, apiVersion))),
    bookmark: (revision, endsInitialEvents) =>
      renderLine(
        'BOOKMARK',
        JSON.stringify({
          kind: 'PartialObjectMetadata',
          apiVersion,
          metadata: bookmarkMetadata(revision, endsInitialEvents),
        }),
      ),
  }
}

export function tableEncoder(kind: Kind, style: () => TableStyle): WatchEncoder {
  let hasHeader = true
  const table = (objects: readonly WatchEvent['presented']['object'][], metadata: object) => {
    const rendered = renderTable(kind, objects, metadata, style(), { hasHeader })
    hasHeader = false
    return JSON.stringify(rendered)
  }
  return {
    event: ({ type, presented: { object } }) =>
      renderLine(type, table([object], { resourceVersion: object.metadata.resourceVersion })),
    bookmark: (revision, endsInitialEvents) =>
      renderLine('BOOKMARK', table([], bookmarkMetadata(revision, endsInitialEvents))),
  }
}

function bookmarkObject({ type }: Kind, revision: number, endsInitialEvents: boolean): object {
  return {
    kind: type.kind,
    apiVersion: type.group === '' ? type.version : `${type.group}/${type.version}`,
    metadata: bookmarkMetadata(revision, endsInitialEvents),
  }
}

function bookmarkMetadata(revision: number, endsInitialEvents: boolean): object {
  return {
    resourceVersion: String(revision),
    creationTimestamp: null,
    ...(endsInitialEvents ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
  }
}
