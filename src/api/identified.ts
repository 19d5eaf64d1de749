import type { JsonObject, JsonReader } from './json-reader.ts'

/** What every parser starts from: the object's identity is already known to be good. */
export interface Identified {
  readonly raw: JsonObject
  readonly metadata: JsonObject
  readonly namespace: string
  readonly name: string
  readonly resourceVersion: string
  readonly read: JsonReader
}
