/** What a server said about one node: its Services, and the endpoints of each. */
import { isSameData } from '../../core/same-data.ts'
import { KpngError } from '../kpng-error.ts'
import { Endpoint, Service, Set as Sets } from '../proto/generated/localv1/api.ts'
import { isServicePath, parseEndpointPath } from '../wire/paths.ts'
import type { ChangeSet } from './change-set.ts'

/** A photograph: later changes make a new one. */
export interface ServiceWithEndpoints {
  readonly service: Service
  /** By the last segment of their paths. */
  readonly endpointsByKey: ReadonlyMap<string, Endpoint>
}

/** One Service that is different now: new without `before`, gone without `after`. */
export interface ServiceChange {
  readonly path: string
  readonly before: ServiceWithEndpoints | undefined
  readonly after: ServiceWithEndpoints | undefined
}

interface Entry {
  /** Undefined: endpoints came, but no Service that they belong to. */
  service: Service | undefined
  readonly endpointsByKey: Map<string, Endpoint>
}

export class LocalState {
  #entries = new Map<string, Entry>()

  /** Returns what is different now, and nothing that is not. Throws before anything is changed. */
  apply({ isReset, sets, deletes }: ChangeSet): readonly ServiceChange[] {
    const changes = [...readSets(sets), ...readDeletes(deletes)]
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
      // What says the same as before stays the same object.
      else if (change.before !== undefined) continue
      if (entry === undefined || (entry.service === undefined && entry.endpointsByKey.size === 0))
        this.#entries.delete(path)
      else this.#entries.set(path, entry)
    }
    return different
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

function* readSets(sets: ChangeSet['sets']): Generator<Change> {
  for (const { Ref: ref, Bytes } of sets) {
    if (ref?.Set === Sets.ServicesSet) {
      const service = checkedServicePath(ref.Path)
      const [Namespace = '', Name = ''] = service.split('/')
      yield { kind: 'service', service, value: { ...Service.decode(Bytes), Namespace, Name } }
    } else if (ref?.Set === Sets.EndpointsSet)
      yield { kind: 'endpoint', ...checkedEndpointPath(ref.Path), value: Endpoint.decode(Bytes) }
  }
}

function* readDeletes(deletes: ChangeSet['deletes']): Generator<Change> {
  for (const { Set: set, Path } of deletes) {
    if (set === Sets.ServicesSet) yield { kind: 'service', service: checkedServicePath(Path), value: undefined }
    else if (set === Sets.EndpointsSet) yield { kind: 'endpoint', ...checkedEndpointPath(Path), value: undefined }
  }
}

function checkedServicePath(path: string): string {
  if (isServicePath(path)) return path
  throw new KpngError('protocol', `the server sent a Service at "${path}", which is no namespace/name`)
}

function checkedEndpointPath(path: string): { readonly service: string; readonly key: string } {
  const parsed = parseEndpointPath(path)
  if (parsed !== undefined) return parsed
  throw new KpngError('protocol', `the server sent an endpoint at "${path}", which is no namespace/service/key`)
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
