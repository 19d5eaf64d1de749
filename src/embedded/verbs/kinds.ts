/** The kinds that a server serves: in which collection each is stored, and how clients see its objects. */
import type { ApiObject, ResourceType } from '../resource.ts'
import type { Entry } from '../store/entry.ts'

/** An object as clients of one kind see it, and its JSON. */
export interface Presented {
  readonly object: ApiObject
  readonly json: string
}

export interface Kind {
  readonly type: ResourceType
  /** The name of its collection in the store. */
  readonly collection: string
  present(entry: Entry): Presented
  toStored(object: ApiObject): ApiObject
}

export class Kinds {
  readonly all: readonly Kind[]
  readonly #byPath = new Map<string, Kind>()

  constructor(types: readonly ResourceType[]) {
    this.all = types.map(kindOf)
    for (const kind of this.all) this.#byPath.set(pathOf(kind.type.group, kind.type.version, kind.type.plural), kind)
  }

  find(group: string, version: string, plural: string): Kind | undefined {
    return this.#byPath.get(pathOf(group, version, plural))
  }
}

function pathOf(group: string, version: string, plural: string): string {
  return `${group}/${version}/${plural}`
}

/** `services`, `endpointslices.discovery.k8s.io` */
function collectionName(of: { readonly group: string; readonly plural: string }): string {
  return of.group === '' ? of.plural : `${of.plural}.${of.group}`
}

function kindOf(type: ResourceType): Kind {
  const { storedAs } = type
  if (storedAs === undefined)
    return { type, collection: collectionName(type), present: (entry) => entry, toStored: (object) => object }
  // Translated once per version, for all lists and watches.
  const presented = new WeakMap<Entry, Presented>()
  return {
    type,
    collection: collectionName(storedAs),
    present(entry) {
      let found = presented.get(entry)
      if (found === undefined) {
        const object = storedAs.fromStored(entry.object)
        presented.set(entry, (found = { object, json: JSON.stringify(object) }))
      }
      return found
    },
    toStored: (object) => storedAs.toStored(object),
  }
}
