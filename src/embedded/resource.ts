/**
 * What the embedded API server needs to know about one kind of object. The server (HTTP, storage, watches) is the
 * same for every kind; a ResourceType holds what differs.
 */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** An API object as JSON; `metadata` is always an object. */
export interface ApiObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly [field: string]: unknown
}

export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly [field: string]: unknown
}

/** One invalid field, as Kubernetes reports it in `status.details.causes`. */
export interface FieldError {
  readonly field: string
  readonly reason:
    | 'FieldValueInvalid'
    | 'FieldValueRequired'
    | 'FieldValueNotSupported'
    | 'FieldValueForbidden'
    | 'FieldValueDuplicate'
  readonly message: string
}

export type Prepared =
  { readonly ok: true; readonly object: ApiObject } | { readonly ok: false; readonly errors: readonly FieldError[] }

export interface TableColumn {
  readonly name: string
  readonly type: 'string' | 'integer' | 'boolean' | 'date'
  readonly format?: string
  readonly description: string
  /** 0 for `kubectl get`, 1 for `-o wide` only. */
  readonly priority: number
}

export interface ResourceType {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly isNamespaced: boolean
  readonly hasStatus: boolean
  /** Fields beyond metadata.name and metadata.namespace that a fieldSelector may name, with how to read them. */
  readonly selectableFields: Readonly<Record<string, (object: ApiObject) => string>>
  readonly columns: readonly TableColumn[]
  cells(object: ApiObject, nowMs: number): readonly (string | number | boolean)[]
  /** Fills in defaults, allocates what must be unique, validates. Pure but for the allocator it is given. */
  prepareCreate(object: ApiObject, allocator: Allocator): Prepared
  prepareUpdate(object: ApiObject, old: ApiObject, allocator: Allocator): Prepared
}

/** Cluster IPs and node ports in use; a view over the store, so a crash cannot leak one. */
export interface Allocator {
  /** A free cluster IP of the family, or undefined when the range is used up. */
  nextClusterIP(family: 'ipv4' | 'ipv6'): string | undefined
  /** Why this address cannot be given to `owner` (`namespace/name`), or undefined when it can. */
  refuseClusterIP(ip: string, owner: string): string | undefined
  nextNodePort(): number | undefined
  refuseNodePort(port: number, protocol: string, owner: string): string | undefined
}
