/**
 * Moving from client-side to server-side apply. `kubectl apply` keeps the last applied file in an annotation. When the
 * same person then applies on the server, the fields in the annotation are theirs, and no reason for a conflict.
 */
import { isJsonObject } from '../../api/json-reader.ts'
import type { ApiObject, ResourceType } from '../resource.ts'
import { decodeObject } from '../resources/decode-object.ts'
import type { FieldSet } from './field-set.ts'
import { difference, emptySet, union } from './field-set.ts'
import { compare, fieldsSetBy } from './ownership.ts'

const annotation = 'kubectl.kubernetes.io/last-applied-configuration'
/** kubectl writes the annotation only under its own name. */
const manager = 'kubectl'

/** The fields of the annotation that still have the value it says. */
export function fieldsLastApplied(live: ApiObject, resource: ResourceType, fieldManager: string): FieldSet {
  const text = live.metadata.annotations?.[annotation]
  if (fieldManager !== manager || text === undefined) return emptySet
  const decoded = decodeObject(parseJson(text), resource)
  if (!decoded.ok) return emptySet
  const { modified, removed } = compare(decoded.object, live, resource.schema)
  return difference(fieldsSetBy(decoded.object, resource.schema), union(modified, removed))
}

/** Keeps the annotation up to date, for a later client-side apply. */
export function rememberApplied(object: ApiObject, config: ApiObject, fieldManager: string): ApiObject {
  const { annotations } = object.metadata
  if (fieldManager !== manager || annotations?.[annotation] === undefined) return object
  const text = `${JSON.stringify(config)}\n`
  return { ...object, metadata: { ...object.metadata, annotations: { ...annotations, [annotation]: text } } }
}

function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    // The annotation was edited, so it says nothing.
    return undefined
  }
}
