/** Text of a manifest file to the objects in it: YAML with several documents, JSON, and `List` kinds. */
import { LineCounter, parseAllDocuments } from 'yaml'
import { isJsonObject } from '../../api/json-reader.ts'
import type { JsonObject } from '../../api/json-reader.ts'

export class ManifestError extends Error {
  override readonly name = 'ManifestError'
}

/** Throws a ManifestError that begins with `file:line:column:`. */
export function parseManifest(text: string, file: string): readonly JsonObject[] {
  return [...documentsOf(text, file)].flatMap(({ value, line }) => objectsOf(value, `${file}:${line}`))
}

interface Document {
  readonly value: unknown
  readonly line: number
}

function documentsOf(text: string, file: string): Iterable<Document> {
  const json = file.endsWith('.json') ? parseJson(text) : undefined
  // The YAML parser reads JSON too: slowly, but it knows in which line a mistake is.
  return json === undefined ? yamlDocumentsOf(text, file) : [{ value: json, line: 1 }]
}

function* yamlDocumentsOf(text: string, file: string): Generator<Document> {
  const lineCounter = new LineCounter()
  for (const document of parseAllDocuments(text, { lineCounter, prettyErrors: false })) {
    const at = (offset: number) => lineCounter.linePos(offset)
    const [error] = document.errors
    if (error !== undefined) {
      const { line, col } = at(error.pos[0])
      throw new ManifestError(`${file}:${line}:${col}: ${error.message}`)
    }
    if (document.contents !== null)
      yield { value: toPlainData(document, file), line: at(document.contents.range?.[0] ?? 0).line }
  }
}

function toPlainData(document: { toJS(): unknown }, file: string): unknown {
  try {
    return document.toJS()
  } catch (error) {
    // For example an alias without its anchor, or one that expands without end.
    throw new ManifestError(`${file}:1:1: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function objectsOf(value: unknown, place: string): readonly JsonObject[] {
  if (value === null) return []
  if (!isJsonObject(value) || typeof value['kind'] !== 'string')
    throw new ManifestError(`${place}:1: expected an object with "apiVersion" and "kind"`)
  if (!value['kind'].endsWith('List') || !('items' in value)) return [value]
  if (!Array.isArray(value['items']))
    throw new ManifestError(`${place}:1: "items" of a ${value['kind']} must be a list`)
  // The items of a typed list may leave out what the list already says.
  const kind = value['kind'].slice(0, -'List'.length)
  const inherited = kind === '' ? {} : { apiVersion: value['apiVersion'], kind }
  return value['items'].flatMap((item) => objectsOf(isJsonObject(item) ? { ...inherited, ...item } : item, place))
}
