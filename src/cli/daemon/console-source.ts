/** Where the objects come from, and whether they are what is there now, as the console shows it. */
import type { Overview } from '../../observe/console/wire.ts'
import type { ObjectSource } from './cluster-source.ts'
import type { SavedStart } from './saved-start.ts'

/** Without the others the proxy does its work as before. */
const neededKinds = new Set(['Service', 'EndpointSlice', 'KPNG'])

export interface SourceParts {
  readonly source: Pick<ObjectSource, 'from' | 'status' | 'isLive'>
  readonly saved: SavedStart
}

export function shownSource({ source, saved }: SourceParts): Overview['source'] {
  const { from } = source
  const status = source.status()
  const contacts = [...status.values()].flatMap(({ lastContactMs }) => lastContactMs ?? [])
  const troubled = [...status].filter(([kind, { trouble }]) => trouble !== undefined && neededKinds.has(kind))
  const why = troubled[0]?.[1].trouble
  const seen = {
    from,
    ...(contacts.length > 0 && { lastContact: isoTime(Math.max(...contacts)) }),
    ...(why !== undefined && { why }),
  }
  if (!source.isLive())
    return saved.savedAtMs === undefined
      ? { ...seen, state: 'waiting' }
      : { ...seen, state: 'saved', since: isoTime(saved.savedAtMs) }
  if (why === undefined) return { ...seen, state: 'live' }
  const since = Math.min(...troubled.map(([, { lastContactMs }]) => lastContactMs ?? Infinity))
  return { ...seen, state: 'lost', ...(Number.isFinite(since) && { since: isoTime(since) }) }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
