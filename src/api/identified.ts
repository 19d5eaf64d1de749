import type { JsonObject, JsonReader } from './json-reader.ts'

/** What every parser starts from: the name of the object has already been checked. */
export interface Identified {
  readonly raw: JsonObject
  readonly metadata: JsonObject
  readonly namespace: string
  readonly name: string
  readonly read: JsonReader
}
