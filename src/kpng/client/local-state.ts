/** What a server said about one node: its Services, and the endpoints of each. */
import { isSameData } from '../../core/same-data.ts'
import type { Logger } from '../../core/logger.ts'
import { Set as Sets } from '../proto/generated/localv1/api.ts'
import type { Endpoint, Service } from '../proto/generated/localv1/api.ts'
import type { ChangeSet } from './change-set.ts'
import { checkedEndpointPath, checkedServicePath, readSets } from './local-records.ts'
import { RefusedRecords } from './refused-records.ts'

/** Immutable: later changes create a new one. */
export interface ServiceWithEndpoints {
  readonly service: Service
  /** By the last segment of their paths. */
  readonly endpointsByKey: ReadonlyMap<string, Endpoint>
}

/** A Service that changed: new without `before`, removed without `after`. */
export interface ServiceChange {
  readonly path: string
  readonly before: ServiceWithEndpoints | undefined
  readonly after: ServiceWithEndpoints | undefined
}

interface Entry {
  /** Absent if there are endpoints, but no Service that they belong to. */
  service: Service | undefined
  readonly endpointsByKey: Map<string, Endpoint>
}

export class LocalState {
  #entries = new Map<string, Entry>()
  readonly #refused: RefusedRecords

  constructor(log: Logger) {
    this.#refused = new RefusedRecords(log)
  }

  /** Returns only what is different now. If it throws, nothing has changed. */
  apply({ isReset, sets, deletes }: ChangeSet): readonly ServiceChange[] {
    const changes = [...this.#readSets(sets), ...readDeletes(deletes)]
    const before = this.#entries
    const touched = new Map<string, Entry>()
    for (const change of changes) {
      let entry = touched.get(change.service)
      if (entry === undefined) {
        entry = copyOf(isReset ? undefined : before.get(change.service))
        touched.set(change.service, entry)
      }
      perform(entry, change)
    }
    const paths = isReset ? new Set([...before.keys(), ...touched.keys()]) : touched.keys()
    const different: ServiceChange[] = []
    for (const path of paths) {
      const change = { path, before: withService(before.get(path)), after: withService(touched.get(path)) }
      const entry = touched.get(path)
      if (!isSame(change.before, change.after)) different.push(change)
      // A Service that is equal keeps its object.
      else if (change.before !== undefined) continue
      if (entry === undefined || (entry.service === undefined && entry.endpointsByKey.size === 0))
        this.#entries.delete(path)
      else this.#entries.set(path, entry)
    }
    return different
  }

  /** A bad version of a good record leaves the good one in place, even when the server sends everything again. */
  *#readSets(sets: ChangeSet['sets']): Generator<Change> {
    for (const { read, ...place } of readSets(sets)) {
      const record = place.kind === 'service' ? place.service : `${place.service}/${place.key}`
      if (read.ok) this.#refused.forget(record)
      else this.#refused.refuse(record, read.problem)
      const known = this.#entries.get(place.service)
      if (place.kind === 'service') {
        const value = read.ok ? (read.value as Service) : known?.service
        if (value !== undefined) yield { ...place, value }
      } else {
        const value = read.ok ? (read.value as Endpoint) : known?.endpointsByKey.get(place.key)
        if (value !== undefined) yield { ...place, value }
      }
    }
  }

  *services(): Generator<readonly [string, ServiceWithEndpoints]> {
    for (const [path, entry] of this.#entries) {
      const known = withService(entry)
      if (known !== undefined) yield [path, known]
    }
  }
}

type Change =
  | { readonly kind: 'service'; readonly service: string; readonly value: Service | undefined }
  | {
      readonly kind: 'endpoint'
      readonly service: string
      readonly key: string
      readonly value: Endpoint | undefined
    }

function* readDeletes(deletes: ChangeSet['deletes']): Generator<Change> {
  for (const { Set: set, Path } of deletes) {
    if (set === Sets.ServicesSet) yield { kind: 'service', service: checkedServicePath(Path), value: undefined }
    else if (set === Sets.EndpointsSet) yield { kind: 'endpoint', ...checkedEndpointPath(Path), value: undefined }
  }
}

function perform(entry: Entry, change: Change): void {
  if (change.kind === 'service') entry.service = change.value
  else if (change.value === undefined) entry.endpointsByKey.delete(change.key)
  else entry.endpointsByKey.set(change.key, change.value)
}

function copyOf(entry: Entry | undefined): Entry {
  return { service: entry?.service, endpointsByKey: new Map(entry?.endpointsByKey) }
}

function withService(entry: Entry | undefined): ServiceWithEndpoints | undefined {
  return entry?.service === undefined ? undefined : { service: entry.service, endpointsByKey: entry.endpointsByKey }
}

function isSame(left: ServiceWithEndpoints | undefined, right: ServiceWithEndpoints | undefined): boolean {
  if (left === undefined || right === undefined) return left === right
  return (
    isSameData(left.service, right.service) &&
    left.endpointsByKey.size === right.endpointsByKey.size &&
    [...left.endpointsByKey].every(([key, endpoint]) => isSameData(endpoint, right.endpointsByKey.get(key)))
  )
}
