/**
 * Reads fields of an API object that came from outside. Each method returns the value in the type we want, or the
 * fallback. A field that is present but wrong is noted as a Problem with its path. Missing and null mean the same, as
 * in Go.
 */
import { shownValue } from '../net/shown-value.ts'
import { oneOf, ProblemList, wholeNumber } from './field-checks.ts'
import type { NumberRange, ProblemNotes } from './field-checks.ts'
import type { ObjectKey, ObjectKind, Problem } from './records.ts'

export type JsonObject = Readonly<Record<string, unknown>>

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const nothing: JsonObject = {}

export class JsonReader implements ProblemNotes {
  readonly #notes: ProblemList

  constructor(kind: ObjectKind, key: ObjectKey) {
    this.#notes = new ProblemList(kind, key)
  }

  get problems(): readonly Problem[] {
    return this.#notes.problems
  }

  problem(field: string, reason: string): void {
    this.#notes.problem(field, reason)
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

  /** The objects of a list with their indexes; anything else in the list is a problem. */
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

  /** Returns nothing if it is absent or wrong. */
  integer(parent: JsonObject, name: string, path: string, range: NumberRange): number | undefined {
    const value = parent[name]
    return value === undefined || value === null ? undefined : wholeNumber(value, range, path, this)
  }

  /** An empty string counts as absent. */
  choice<T extends string>(parent: JsonObject, name: string, path: string, choices: readonly T[], fallback: T): T {
    const value = this.string(parent, name, path)
    return value === '' ? fallback : (oneOf(value, choices, path, this) ?? fallback)
  }
}
