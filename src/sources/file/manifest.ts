/** Parses a manifest file into its objects: YAML with several documents, JSON, and `List` kinds. */
import { isMap, isScalar, isSeq, LineCounter, parseAllDocuments } from 'yaml'
import type { Document } from 'yaml'
import { isJsonObject } from '../../api/json-reader.ts'
import type { JsonObject } from '../../api/json-reader.ts'
import { unknownFields } from '../../api/known-fields.ts'
import type { UnknownField } from '../../api/known-fields.ts'
import { shortened } from '../../net/shown-value.ts'
import { kindOfObject } from './object-kind.ts'

class ManifestError extends Error {
  override readonly name = 'ManifestError'
}

type Path = readonly (string | number)[]

export interface ManifestObject {
  readonly object: JsonObject
  /** `file:line`. */
  readonly place: string
  readonly unknownFields: readonly UnknownFieldPlace[]
}

interface UnknownFieldPlace {
  readonly place: string
  /** `spec.ports[0].prtocol` */
  readonly field: string
  readonly nearest: string | undefined
}

/** Throws a ManifestError that begins with `file:line:column:`. */
export function parseManifest(text: string, file: string): readonly ManifestObject[] {
  return documentsOf(text, file).flatMap((document) =>
    objectsOf(document.value, [], file, document).map(({ object, path }) => ({
      object,
      place: `${file}:${document.lineOf(path)}`,
      unknownFields: unknownIn(object).map((unknown) => ({
        place: `${file}:${document.lineOf([...path, ...unknown.path])}`,
        field: shortened(renderPath(unknown.path)),
        nearest: unknown.nearest,
      })),
    })),
  )
}

function unknownIn(object: JsonObject): readonly UnknownField[] {
  const kind = kindOfObject(object)
  return kind.is === 'read' ? unknownFields(kind.kind, object) : []
}

interface ReadDocument {
  readonly value: unknown
  lineOf(path: Path): number
}

function documentsOf(text: string, file: string): readonly ReadDocument[] {
  const json = file.endsWith('.json') ? parseJson(text) : undefined
  // The YAML parser reads JSON, too. It is slower, but knows the line of an error.
  if (json === undefined) return yamlDocumentsOf(text, file)
  let document: ReadDocument | undefined
  const lineOf = (path: Path) => {
    if (path.length === 0) return 1
    document ??= yamlDocumentsOf(text, file)[0]
    return document?.lineOf(path) ?? 1
  }
  return [{ value: json, lineOf }]
}

function yamlDocumentsOf(text: string, file: string): ReadDocument[] {
  const lineCounter = new LineCounter()
  const documents: ReadDocument[] = []
  for (const document of parseAllDocuments(text, { lineCounter, prettyErrors: false })) {
    const at = (offset: number) => lineCounter.linePos(offset)
    const [error] = document.errors
    if (error !== undefined) {
      const { line, col } = at(error.pos[0])
      throw new ManifestError(`${file}:${line}:${col}: ${shortened(error.message)}`)
    }
    if (document.contents !== null)
      documents.push({ value: toPlainData(document, file), lineOf: (path) => at(offsetOf(document, path)).line })
  }
  return documents
}

/** Where the last key of the path is, or the nearest place that exists. */
function offsetOf(document: Document, path: Path): number {
  let node: unknown = document.contents
  let offset = document.contents?.range?.[0] ?? 0
  for (const step of path) {
    if (isSeq(node)) node = node.items[Number(step)]
    else if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step))
      offset = (isScalar(pair?.key) ? pair.key.range?.[0] : undefined) ?? offset
      node = pair?.value
      continue
    } else return offset
    offset = (node as { range?: readonly number[] } | undefined)?.range?.[0] ?? offset
  }
  return offset
}

function toPlainData(document: { toJS(): unknown }, file: string): unknown {
  try {
    return document.toJS()
  } catch (error) {
    // For example an alias without its anchor, or one that expands without end.
    const reason = shortened(error instanceof Error ? error.message : String(error))
    throw new ManifestError(`${file}:1:1: ${reason}`, { cause: error })
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

interface PathedObject {
  readonly object: JsonObject
  readonly path: Path
}

function objectsOf(value: unknown, path: Path, file: string, document: ReadDocument): readonly PathedObject[] {
  if (value === null) return []
  const refused = (why: string) => new ManifestError(`${file}:${document.lineOf(path)}:1: ${why}`)
  if (!isJsonObject(value) || typeof value['kind'] !== 'string')
    throw refused('expected an object with "apiVersion" and "kind"')
  if (!value['kind'].endsWith('List') || !('items' in value)) return [{ object: value, path }]
  if (!Array.isArray(value['items'])) throw refused(`"items" of a ${shortened(value['kind'])} must be a list`)
  // The items of a typed list may leave out what the list already says.
  const kind = value['kind'].slice(0, -'List'.length)
  const inherited = kind === '' ? {} : { apiVersion: value['apiVersion'], kind }
  return value['items'].flatMap((item, index) =>
    objectsOf(isJsonObject(item) ? { ...inherited, ...item } : item, [...path, 'items', index], file, document),
  )
}

function renderPath(path: Path): string {
  return path.map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`)).join('')
}
