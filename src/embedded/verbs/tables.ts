/** Objects as rows for `kubectl get`: the server decides on the columns. */
import type { Kind } from './kinds.ts'
import type { ApiObject } from '../resource.ts'

/** How much of its object a row contains. */
export type IncludeObject = 'None' | 'Metadata' | 'Object'

export interface TableStyle {
  readonly apiVersion: 'meta.k8s.io/v1' | 'meta.k8s.io/v1beta1'
  readonly includeObject: IncludeObject
  readonly nowMs: number
}

export function renderTable(
  kind: Kind,
  objects: readonly ApiObject[],
  metadata: object,
  style: TableStyle,
  options: { readonly hasHeader: boolean } = { hasHeader: true },
): object {
  return {
    kind: 'Table',
    apiVersion: style.apiVersion,
    metadata,
    // A watch describes the columns once, with its first event.
    columnDefinitions: options.hasHeader ? kind.type.columns.map((column) => ({ format: '', ...column })) : null,
    rows: objects.map((object) => ({ cells: kind.type.cells(object, style.nowMs), object: rowObject(object, style) })),
  }
}

export function metadataOnly(object: ApiObject, apiVersion: string): object {
  return { kind: 'PartialObjectMetadata', apiVersion, metadata: object.metadata }
}

function rowObject(object: ApiObject, style: TableStyle): object | null {
  switch (style.includeObject) {
    case 'None':
      return null
    case 'Metadata':
      return metadataOnly(object, style.apiVersion)
    case 'Object':
      return object
    default:
      return style.includeObject satisfies never
  }
}
