/**
 * What the embedded API server needs to know about one kind of object. The server (HTTP, storage, watches) is the
 * same for every kind; a ResourceType holds what differs.
 *
 * The life of a write, in the order the server must keep:
 * 1. A protobuf body: `decodeProtobuf(bytes, schema)` (resources/decode-protobuf.ts) makes JSON of it.
 *    Body: `decodeObject(body, resource)` (resources/decode-object.ts) refuses wrong JSON types (400), drops unknown
 *    fields and names them, for `fieldValidation=Strict` (400) and `Warn` (a Warning header).
 *    Patch: `applyPatch(…)` (patch/apply-patch.ts), then `decodeObject` on its result.
 * 2. With `hasStatus`: a write to the main resource keeps the old status, one to `/status` keeps all but the status.
 * 3. `trackUpdate(…)` (patch/track-update.ts) notes who owns which field, for server-side apply. An apply patch has
 *    done that already. It must come before step 4, so that nobody owns what the server allocates.
 * 4. `prepareCreate` or `prepareUpdate`: defaults, allocation, validation (422). The server has set name (also from
 *    generateName), namespace, uid and creationTimestamp by then. A kind that counts generations sets
 *    `metadata.generation` to 1 in prepareCreate; the server adds one whenever labels, or more than metadata
 *    and status, change.
 * One difference from a real server, on purpose: endpoint addresses on loopback are accepted (Endpoints and
 * EndpointSlices), because the demo's backends and this server itself live there.
 * Nothing changed between old and prepared object but the times in managedFields: do not write it.
 */
import type { KindSchema } from './resources/schema.ts'

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
  /** `spec.ports[0].port` */
  readonly field: string
  readonly reason:
    | 'FieldValueInvalid'
    | 'FieldValueRequired'
    | 'FieldValueNotSupported'
    | 'FieldValueForbidden'
    | 'FieldValueDuplicate'
    | 'FieldValueTooLong'
    | 'FieldValueTooMany'
    | 'FieldManagerConflict'
  /** Without the field: `Invalid value: 0: must be between 1 and 65535, inclusive`. */
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
  /** The one description of its fields: decoding, OpenAPI, strategic merge and server-side apply follow it. */
  readonly schema: KindSchema
  /** Fields beyond metadata.name and metadata.namespace that a fieldSelector may name, with how to read them. */
  readonly selectableFields: Readonly<Record<string, (object: ApiObject) => string>>
  readonly columns: readonly TableColumn[]
  cells(object: ApiObject, nowMs: number): readonly (string | number | boolean)[]
  /** Fills in defaults, allocates what must be unique, validates. Pure but for the allocator it is given. */
  prepareCreate(object: ApiObject, allocator: Allocator): Prepared
  prepareUpdate(object: ApiObject, old: ApiObject, allocator: Allocator): Prepared
  /** Set when the objects are kept as another kind's, as events.k8s.io/v1 Events are kept as core Events. */
  readonly storedAs?: StoredAs
}

/** How one view of shared objects translates to the kind that is stored, and back. Metadata stays as it is. */
export interface StoredAs {
  readonly group: string
  readonly plural: string
  toStored(object: ApiObject): ApiObject
  fromStored(object: ApiObject): ApiObject
}

/** Cluster IPs and node ports in use; a view over the store, so a crash cannot leak one. */
export interface Allocator {
  /** The families that have a range, the default one first. */
  readonly families: readonly ('ipv4' | 'ipv6')[]
  /** A free cluster IP of the family, or undefined when the range is used up. */
  nextClusterIP(family: 'ipv4' | 'ipv6'): string | undefined
  /** Why this address cannot be given to `owner` (`namespace/name`), or undefined when it can. */
  refuseClusterIP(ip: string, owner: string): string | undefined
  /** A port that no Service uses for any protocol, and none of `except`: one Service may need several at once. */
  nextNodePort(except: ReadonlySet<number>): number | undefined
  /** Also refuses what is outside the range of node ports. */
  refuseNodePort(port: number, protocol: string, owner: string): string | undefined
}
