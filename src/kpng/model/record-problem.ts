/** Finds the first field of a record that has an invalid value. */
import { shownValue } from '../../net/shown-value.ts'
import { plainText } from './field-rules.ts'
import type { Shape } from './state-shape.ts'

export interface RecordProblem {
  /** Names of fields and indexes of list items, from the record to the field. */
  readonly path: readonly (string | number)[]
  readonly reason: string
}

/** An absent field has its default, which is valid. */
export function recordProblem(
  value: unknown,
  shape: Shape,
  path: RecordProblem['path'] = [],
): RecordProblem | undefined {
  if (value === undefined) return undefined
  switch (shape.kind) {
    case 'flag':
    case 'ignored':
      return undefined
    case 'text':
      return problem(shape.rule(value as string), value, path)
    case 'number': {
      const { min, max } = shape.range
      const isWithin = typeof value === 'number' && value >= min && value <= max
      return problem(isWithin ? undefined : `a number from ${min} to ${max}`, value, path)
    }
    case 'texts':
      return first(value as readonly string[], (item, index) => problem(shape.rule(item), item, [...path, index]))
    case 'list':
      return first(value as readonly unknown[], (item, index) => recordProblem(item, shape.of, [...path, index]))
    case 'map':
      return first(
        Object.entries(value as Record<string, string>),
        ([name, item]) => problem(plainText(name), name, path) ?? problem(shape.rule(item), item, path),
      )
    case 'object':
      return first(Object.entries(shape.fields), ([name, field]) =>
        recordProblem((value as Readonly<Record<string, unknown>>)[name], field, [...path, name]),
      )
    default:
      return shape satisfies never
  }
}

/** `services[0].service.name`: as in a file. */
export function pathText(path: RecordProblem['path']): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${part.toLowerCase()}`))
    .join('')
}

function problem(wanted: string | undefined, value: unknown, path: RecordProblem['path']): RecordProblem | undefined {
  return wanted === undefined ? undefined : { path, reason: `must be ${wanted}, not ${shownValue(value)}` }
}

function first<T>(
  items: readonly T[],
  look: (item: T, index: number) => RecordProblem | undefined,
): RecordProblem | undefined {
  for (const [index, item] of items.entries()) {
    const found = look(item, index)
    if (found !== undefined) return found
  }
  return undefined
}
