/** Label selectors as kubectl -l writes them: equality, sets, existence, numeric comparison. */
import { badRequest } from '../status.ts'

type Labels = Readonly<Record<string, string>>

export type LabelSelector = (labels: Labels) => boolean

/** An empty selector matches everything. */
export function parseLabelSelector(text: string): LabelSelector | undefined {
  const tokens = tokenize(text)
  if (tokens.length === 0) return undefined
  const requirements: LabelSelector[] = []
  for (let start = 0; start < tokens.length;) {
    const [requirement, next] = parseRequirement(tokens, start)
    requirements.push(requirement)
    if (next < tokens.length && tokens[next] !== ',')
      throw unparsable(`found '${tokens[next]}', expected: ',' or the end`)
    if (next === tokens.length - 1) throw unparsable("found '', expected: identifier after ','")
    start = next + 1
  }
  return (labels) => requirements.every((matches) => matches(labels))
}

function tokenize(text: string): string[] {
  return text.match(/==|!=|[=!<>(),]|[^\s=!<>(),]+/g) ?? []
}

function parseRequirement(tokens: readonly string[], start: number): [LabelSelector, next: number] {
  if (tokens[start] === '!') {
    const key = labelKey(tokens[start + 1])
    return [(labels) => !Object.hasOwn(labels, key), start + 2]
  }
  const key = labelKey(tokens[start])
  const operator = tokens[start + 1]
  switch (operator) {
    case undefined:
    case ',':
      return [(labels) => Object.hasOwn(labels, key), start + 1]
    case '=':
    case '==':
    case '!=': {
      const [value, next] = optionalValue(tokens, start + 2)
      return [
        operator === '!=' ? (labels) => valueOf(labels, key) !== value : (labels) => valueOf(labels, key) === value,
        next,
      ]
    }
    case 'in':
    case 'notin': {
      const [values, next] = parseSet(tokens, start + 2)
      // "notin" and "!=" also match objects without the label.
      const isIn: LabelSelector = (labels) => Object.hasOwn(labels, key) && values.has(labels[key] ?? '')
      return [operator === 'in' ? isIn : (labels) => !isIn(labels), next]
    }
    case '<':
    case '>': {
      const [text, next] = optionalValue(tokens, start + 2)
      if (!/^-?\d+$/.test(text)) throw unparsable(`for '${operator}' the value must be an integer, not '${text}'`)
      return [(labels) => compares(valueOf(labels, key), operator, Number(text)), next]
    }
    default:
      throw unparsable(`found '${operator}', expected: in, notin, =, ==, !=, <, >`)
  }
}

function parseSet(tokens: readonly string[], start: number): [ReadonlySet<string>, next: number] {
  if (tokens[start] !== '(') throw unparsable(`found '${tokens[start] ?? ''}', expected: '('`)
  const values = new Set<string>()
  for (let at = start + 1; ;) {
    const [value, next] = optionalValue(tokens, at)
    values.add(value)
    if (tokens[next] === ')') return [values, next + 1]
    if (tokens[next] !== ',') throw unparsable(`found '${tokens[next] ?? ''}', expected: ',' or ')'`)
    at = next + 1
  }
}

/** `tier=` asks for an empty value. */
function optionalValue(tokens: readonly string[], at: number): [string, next: number] {
  const token = tokens[at]
  if (token === undefined || token === ',' || token === ')') return ['', at]
  if (!/^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)$/.test(token))
    throw unparsable(`'${token}' is not a label value`)
  return [token, at + 1]
}

function labelKey(token: string | undefined): string {
  if (
    token === undefined ||
    !/^(?:[a-z0-9][-a-z0-9.]{0,252}\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(token)
  )
    throw unparsable(`'${token ?? ''}' is not a label key`)
  return token
}

function valueOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined
}

function compares(value: string | undefined, operator: '<' | '>', bound: number): boolean {
  if (value === undefined || !/^-?\d+$/.test(value)) return false
  return operator === '<' ? Number(value) < bound : Number(value) > bound
}

function unparsable(problem: string): Error {
  return badRequest(`unable to parse requirement: ${problem}`)
}
