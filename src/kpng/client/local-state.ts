/** What a server said about one node: its Services, and the endpoints of each. */
import { isSameData } from '../../core/same-data.ts'
import { KpngError } from '../kpng-error.ts'
import { Endpoint, Service, Set as Sets } from '../proto/generated/localv1/api.ts'
import { isServicePath, parseEndpointPath } from '../wire/paths.ts'
import type { ChangeSet } from './change-set.ts'

export interface ServiceWithEndpoints {
  readonly service: Service
  /** By the last segment of their paths. */
  readonly endpointsByKey: ReadonlyMap<string, Endpoint>
}

interface Entry {
  service: Service | undefined
  readonly endpointsByKey: Map<string, Endpoint>
}

export class LocalState {
  #entries = new Map<string, Entry>()

  get(path: string): ServiceWithEndpoints | undefined {
    const { service, endpointsByKey } = this.#entries.get(path) ?? {}
    return service === undefined || endpointsByKey === undefined ? undefined : { service, endpointsByKey }
  }

  /** Endpoints whose Service is not known belong to nobody. */
  *services(): Generator<readonly [string, ServiceWithEndpoints]> {
    for (const [path, { service, endpointsByKey }] of this.#entries)
      if (service !== undefined) yield [path, { service, endpointsByKey }]
  }

  /** Returns the paths of the Services that are different now. Throws before anything is changed. */
  apply({ isReset, sets, deletes }: ChangeSet): ReadonlySet<string> {
    const before = this.#entries
    const changes = [...readSets(sets), ...readDeletes(deletes)]
    if (!isReset) {
      for (const change of changes) perform(this.#entries, change)
      return new Set(changes.map(({ service }) => service))
    }
    this.#entries = new Map()
    for (const change of changes) perform(this.#entries, change)
    // The whole state came again: most of it is what it was.
    const different = new Set<string>()
    for (const path of new Set([...before.keys(), ...this.#entries.keys()]))
      if (!isSameEntry(before.get(path), this.#entries.get(path))) different.add(path)
    return different
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

function perform(entries: Map<string, Entry>, change: Change): void {
  let entry = entries.get(change.service)
  if (entry === undefined) entries.set(change.service, (entry = { service: undefined, endpointsByKey: new Map() }))
  if (change.kind === 'service') entry.service = change.value
  else if (change.value === undefined) entry.endpointsByKey.delete(change.key)
  else entry.endpointsByKey.set(change.key, change.value)
  if (entry.service === undefined && entry.endpointsByKey.size === 0) entries.delete(change.service)
}

function isSameEntry(left: Entry | undefined, right: Entry | undefined): boolean {
  if (left === undefined || right === undefined) return left === right
  return (
    isSameData(left.service, right.service) &&
    left.endpointsByKey.size === right.endpointsByKey.size &&
    [...left.endpointsByKey].every(([key, endpoint]) => isSameData(endpoint, right.endpointsByKey.get(key)))
  )
}
