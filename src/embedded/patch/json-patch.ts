/** RFC 6902: a list of operations, of which either all or none are applied. */
import { isDeepStrictEqual } from 'node:util'
import { isJsonObject } from '../../api/json-reader.ts'
import { withKey, withoutKey } from './json-object.ts'
import { PatchError } from './patch-error.ts'

/** The limits of a real server. A small patch that copies its own copies doubles the object with every operation. */
const maximumOperations = 10_000
const maximumCopiedBytes = 3 * 1024 * 1024

export function applyJsonPatch(current: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw new PatchError(400, 'a JSON patch must be a list of operations')
  if (patch.length > maximumOperations)
    throw new PatchError(
      413,
      'Request entity too large: The allowed maximum operations in a JSON patch is ' +
        `${maximumOperations}, got ${patch.length}`,
    )
  const copier = boundedCopier()
  return patch.reduce((document: unknown, operation: unknown) => applyOperation(document, operation, copier), current)
}

type Copier = (value: unknown) => unknown

/** Throws when all copies of a patch together are too large. */
function boundedCopier(): Copier {
  let copiedBytes = 0
  return (value) => {
    const json = JSON.stringify(value)
    copiedBytes += Buffer.byteLength(json)
    if (copiedBytes > maximumCopiedBytes)
      throw new PatchError(
        422,
        `the copies of a JSON patch may add up to ${maximumCopiedBytes} bytes, those of this one are more`,
      )
    return JSON.parse(json) as unknown
  }
}

function applyOperation(document: unknown, operation: unknown, copy: Copier): unknown {
  if (!isJsonObject(operation)) throw new PatchError(400, 'an operation of a JSON patch must be an object')
  const { op } = operation
  const path = parsePointer(operation['path'], 'path')
  switch (op) {
    case 'add':
      return add(document, path, valueOf(operation))
    case 'remove':
      return remove(document, path)
    case 'replace':
      return replace(document, path, valueOf(operation))
    case 'move': {
      const from = parsePointer(operation['from'], 'from')
      if (from.length < path.length && from.every((token, index) => token === path[index]))
        throw new PatchError(422, `cannot move ${renderPointer(from)} into itself`)
      return add(remove(document, from), path, get(document, from))
    }
    case 'copy':
      return add(document, path, copy(get(document, parsePointer(operation['from'], 'from'))))
    case 'test':
      if (isDeepStrictEqual(get(document, path), valueOf(operation))) return document
      throw new PatchError(422, `testing value ${renderPointer(path)} failed: the value is another one`)
    default:
      throw new PatchError(422, `unknown operation ${JSON.stringify(op)} in a JSON patch`)
  }
}

function valueOf(operation: Readonly<Record<string, unknown>>): unknown {
  if (!Object.hasOwn(operation, 'value'))
    throw new PatchError(400, `the operation ${String(operation['op'])} ${String(operation['path'])} needs a value`)
  return operation['value']
}

function parsePointer(pointer: unknown, field: string): readonly string[] {
  if (typeof pointer !== 'string') throw new PatchError(400, `an operation of a JSON patch needs a ${field}`)
  if (pointer === '') return []
  if (!pointer.startsWith('/')) throw new PatchError(400, `the ${field} ${JSON.stringify(pointer)} must start with "/"`)
  return pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function renderPointer(path: readonly string[]): string {
  return path.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

function get(document: unknown, path: readonly string[]): unknown {
  return path.reduce((value, token) => child(value, token, path), document)
}

function child(parent: unknown, token: string, path: readonly string[]): unknown {
  if (Array.isArray(parent)) return parent[indexIn(parent, token, parent.length - 1, path)]
  if (isJsonObject(parent) && Object.hasOwn(parent, token)) return parent[token]
  throw missing(path)
}

function add(document: unknown, path: readonly string[], value: unknown): unknown {
  return at(document, path, path, value, (parent, token) => {
    if (Array.isArray(parent))
      return parent.toSpliced(token === '-' ? parent.length : indexIn(parent, token, parent.length, path), 0, value)
    if (isJsonObject(parent)) return withKey(parent, token, value)
    throw missing(path)
  })
}

function remove(document: unknown, path: readonly string[]): unknown {
  return at(document, path, path, null, (parent, token) => {
    if (Array.isArray(parent)) return parent.toSpliced(indexIn(parent, token, parent.length - 1, path), 1)
    if (isJsonObject(parent) && Object.hasOwn(parent, token)) return withoutKey(parent, token)
    throw missing(path)
  })
}

function replace(document: unknown, path: readonly string[], value: unknown): unknown {
  return at(document, path, path, value, (parent, token) => {
    if (Array.isArray(parent)) return parent.with(indexIn(parent, token, parent.length - 1, path), value)
    if (isJsonObject(parent) && Object.hasOwn(parent, token)) return withKey(parent, token, value)
    throw missing(path)
  })
}

/** Changes the parent of the path's last token; the path "" means the whole document. */
function at(
  document: unknown,
  path: readonly string[],
  whole: readonly string[],
  rootValue: unknown,
  change: (parent: unknown, token: string) => unknown,
): unknown {
  const [token, ...rest] = path
  if (token === undefined) return rootValue
  if (rest.length === 0) return change(document, token)
  const next = at(child(document, token, whole), rest, whole, rootValue, change)
  if (Array.isArray(document)) return document.with(Number(token), next)
  return isJsonObject(document)
    ? Object.fromEntries(Object.entries(document).map(([key, value]) => [key, key === token ? next : value]))
    : next
}

function indexIn(list: readonly unknown[], token: string, maximum: number, path: readonly string[]): number {
  const index = /^(0|[1-9]\d*)$/.test(token) ? Number(token) : Number.NaN
  if (index <= maximum) return index
  throw new PatchError(422, `${renderPointer(path)}: index ${token} is not in the list of ${list.length}`)
}

function missing(path: readonly string[]): PatchError {
  return new PatchError(422, `the path ${renderPointer(path)} does not exist`)
}
