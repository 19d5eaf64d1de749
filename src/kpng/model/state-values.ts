/** Reads the values of a state file into the shape of KPNG's messages. */
import { shownValue } from '../../net/shown-value.ts'
import { compareBytes } from '../wire/byte-order.ts'
import type { RecordProblem } from './record-problem.ts'
import type { Shape } from './state-shape.ts'

export class StateMistake extends Error {
  override readonly name = 'StateMistake'
  readonly problem: RecordProblem

  constructor(problem: RecordProblem) {
    super(problem.reason)
    this.problem = problem
  }
}

export function readStateValue(value: unknown, shape: Shape, path: RecordProblem['path']): unknown {
  if (value === null || value === undefined) return emptyOf(shape)
  const wrong = (wanted: string) => new StateMistake({ path, reason: `must be ${wanted}, not ${shownValue(value)}` })
  switch (shape.kind) {
    case 'ignored':
      return undefined
    case 'text':
      if (typeof value !== 'string' && typeof value !== 'number') throw wrong('a text')
      return String(value)
    case 'number':
      if (!Number.isInteger(value)) throw wrong('a whole number')
      return value
    case 'flag':
      if (typeof value !== 'boolean') throw wrong('true or false')
      return value
    case 'texts':
      if (!Array.isArray(value)) throw wrong('a list')
      return value.map(String)
    case 'map':
      if (typeof value !== 'object' || Array.isArray(value)) throw wrong('names with values')
      return sortedMap(value)
    case 'list':
      if (!Array.isArray(value)) throw wrong('a list')
      return value.map((item, index) => readStateValue(item, shape.of, [...path, index]))
    case 'object':
      if (typeof value !== 'object' || Array.isArray(value)) throw wrong('an object')
      return readObject(value, shape.fields, path)
    default:
      return shape satisfies never
  }
}

function readObject(value: object, fields: Readonly<Record<string, Shape>>, path: RecordProblem['path']): unknown {
  const nameByKey = new Map(Object.keys(fields).map((name) => [name.toLowerCase(), name]))
  const read: Record<string, unknown> = {}
  for (const [name, shape] of Object.entries(fields)) {
    const empty = emptyOf(shape)
    if (empty !== undefined) read[name] = empty
  }
  for (const [key, item] of Object.entries(value) as [string, unknown][]) {
    const name = nameByKey.get(key)
    const shape = name === undefined ? undefined : fields[name]
    if (name === undefined || shape === undefined)
      throw new StateMistake({
        path: [...path, key],
        reason: `is unknown: the known keys are ${[...nameByKey.keys()].join(', ')}`,
      })
    const field = readStateValue(item, shape, [...path, name])
    if (field !== undefined) read[name] = field
  }
  return read
}

/** What a message has where the file has nothing. Submessages are absent then. */
function emptyOf(shape: Shape): unknown {
  switch (shape.kind) {
    case 'text':
      return ''
    case 'number':
      return 0
    case 'flag':
      return false
    case 'texts':
    case 'list':
      return []
    case 'map':
      return {}
    case 'ignored':
    case 'object':
      return undefined
    default:
      return shape satisfies never
  }
}

function sortedMap(value: object): Record<string, string> {
  const entries = Object.entries(value).map(([name, item]) => [name, String(item)] as const)
  return Object.fromEntries(entries.sort(([left], [right]) => compareBytes(left, right)))
}
