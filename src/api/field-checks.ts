/** Checks of single values, whether they came as JSON or over a wire. Problems are noted with their field. */
import { shownValue } from '../net/shown-value.ts'
import type { ObjectKey, ObjectKind, Problem } from './records.ts'

export interface ProblemNotes {
  problem(field: string, reason: string): void
}

export class ProblemList implements ProblemNotes {
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
}

export interface NumberRange {
  readonly min: number
  readonly max: number
}

/** Returns nothing if it is not a whole number in the range. */
export function wholeNumber(
  value: unknown,
  { min, max }: NumberRange,
  field: string,
  notes: ProblemNotes,
): number | undefined {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
  notes.problem(field, `must be a whole number from ${min} to ${max}, not ${shownValue(value)}`)
  return undefined
}

/** Returns nothing if it is not one of the choices. */
export function oneOf<T extends string>(
  value: string,
  choices: readonly T[],
  field: string,
  notes: ProblemNotes,
): T | undefined {
  const known = choices.find((choice) => choice === value)
  if (known === undefined) notes.problem(field, `must be one of ${choices.join(', ')}, not ${shownValue(value)}`)
  return known
}
