/**
 * Reads fields of an API object that came from outside. Each accessor gives the value in the type we want, or the
 * fallback; what is present but wrong is noted as a Problem with its path. Missing and null mean the same, as in Go.
 */
import { shownValue } from '../net/shown-value.ts'
import type { ObjectKey, ObjectKind, Problem } from './records.ts'

export type JsonObject = Readonly<Record<string, unknown>>

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const nothing: JsonObject = {}

export class JsonReader {
  readonly problems: Problem[] = []
  readonly #kind: ObjectKind
  readonly #key: ObjectKey

  constructor(kind: ObjectKind, key: ObjectKey) {
    this.#kind = kind
    this.#key = key
  }

  problem(field: string, reason: string): void {
    this.problems.push({ kind: this.#kind, key: this.#key, field, reason })
  }

  object(parent: JsonObject, name: string, path: string): JsonObject {
    const value = parent[name]
    if (value === undefined || value === null) return nothing
    if (isJsonObject(value)) return value
    this.problem(path, `must be an object, not ${shownValue(value)}`)
    return nothing
  }

  list(parent: JsonObject, name: string, path: string): readonly unknown[] {
    const value = parent[name]
    if (value === undefined || value === null) return []
    if (Array.isArray(value)) return value
    this.problem(path, `must be a list, not ${shownValue(value)}`)
    return []
  }

  /** The objects of a list, with their index in it; anything else in the list is a problem. */
  *objects(parent: JsonObject, name: string, path: string): Generator<readonly [JsonObject, number]> {
    for (const [index, item] of this.list(parent, name, path).entries()) {
      if (isJsonObject(item)) yield [item, index]
      else this.problem(`${path}[${index}]`, `must be an object, not ${shownValue(item)}`)
    }
  }

  *strings(parent: JsonObject, name: string, path: string): Generator<readonly [string, number]> {
    for (const [index, item] of this.list(parent, name, path).entries()) {
      if (typeof item === 'string') yield [item, index]
      else this.problem(`${path}[${index}]`, `must be a string, not ${shownValue(item)}`)
    }
  }

  string(parent: JsonObject, name: string, path: string): string {
    const value = parent[name]
    if (value === undefined || value === null) return ''
    if (typeof value === 'string') return value
    this.problem(path, `must be a string, not ${shownValue(value)}`)
    return ''
  }

  boolean(parent: JsonObject, name: string, path: string, fallback: boolean): boolean {
    const value = parent[name]
    if (value === undefined || value === null) return fallback
    if (typeof value === 'boolean') return value
    this.problem(path, `must be true or false, not ${shownValue(value)}`)
    return fallback
  }

  /** A whole number in the range; undefined when it is absent or wrong. */
  integer(
    parent: JsonObject,
    name: string,
    path: string,
    range: { readonly min: number; readonly max: number },
  ): number | undefined {
    const value = parent[name]
    if (value === undefined || value === null) return undefined
    if (typeof value === 'number' && Number.isInteger(value) && value >= range.min && value <= range.max) return value
    this.problem(path, `must be a whole number from ${range.min} to ${range.max}, not ${shownValue(value)}`)
    return undefined
  }

  /** One of a few words; an empty string counts as absent. */
  choice<T extends string>(parent: JsonObject, name: string, path: string, choices: readonly T[], fallback: T): T {
    const value = this.string(parent, name, path)
    if (value === '') return fallback
    const known = choices.find((choice) => choice === value)
    if (known === undefined) this.problem(path, `must be one of ${choices.join(', ')}, not ${shownValue(value)}`)
    return known ?? fallback
  }
}
