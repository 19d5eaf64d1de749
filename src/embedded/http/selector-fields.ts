/** Field selectors: `metadata.name=web,spec.clusterIP!=None`. */
import type { ApiObject, ResourceType } from '../resource.ts'
import { badRequest } from '../status.ts'

export interface FieldSelector {
  matches(object: ApiObject): boolean
  /** If it asks for one name, only that object is looked up. */
  readonly name: string | undefined
}

/** An empty selector matches everything. */
export function parseFieldSelector(text: string, type: ResourceType): FieldSelector | undefined {
  const terms = splitTerms(text).map((term) => parseTerm(term, type))
  if (terms.length === 0) return undefined
  return {
    matches: (object) => terms.every((term) => (term.read(object) === term.value) === term.isEqual),
    name: terms.find((term) => term.field === 'metadata.name' && term.isEqual)?.value,
  }
}

interface Term {
  readonly field: string
  readonly isEqual: boolean
  readonly value: string
  read(object: ApiObject): string
}

/** Commas separate terms, unless they follow a backslash. */
function splitTerms(text: string): string[] {
  return (text.match(/(?:\\.|[^\\,])+/g) ?? []).filter((term) => term.trim() !== '')
}

function parseTerm(text: string, type: ResourceType): Term {
  const parts = /^((?:\\.|[^\\=!])+?)(==|!=|=)(.*)$/s.exec(text)
  if (parts === null) throw badRequest(`invalid selector: '${text}'; can't understand '${text}'`)
  const [, field = '', operator, value = ''] = parts
  return {
    field: field.trim(),
    isEqual: operator !== '!=',
    value: value.replace(/\\([\\,=])/g, '$1'),
    read: readerOf(field.trim(), type),
  }
}

function readerOf(field: string, type: ResourceType): (object: ApiObject) => string {
  if (field === 'metadata.name') return (object) => object.metadata.name
  if (field === 'metadata.namespace' && type.isNamespaced) return (object) => object.metadata.namespace ?? ''
  const read = Object.hasOwn(type.selectableFields, field) ? type.selectableFields[field] : undefined
  if (read !== undefined) return read
  throw badRequest(
    Object.keys(type.selectableFields).length > 0
      ? `field label not supported: ${field}`
      : `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`,
  )
}
