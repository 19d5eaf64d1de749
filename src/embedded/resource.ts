/**
 * What the embedded API server needs to know about one kind of object. The server (HTTP, storage, watches) is the same
 * for every kind; a ResourceType holds what differs.
 *
 * The steps of a write, in this order:
 * 1. A protobuf body: `decodeProtobuf(bytes, schema)` (resources/decode-protobuf.ts) turns it into JSON.
 *    Body: `decodeObject(body, resource)` (resources/decode-object.ts) refuses wrong JSON types (400), drops unknown
 *    fields and names them, for `fieldValidation=Strict` (400) and `Warn` (a Warning header).
 *    Patch: `applyPatch(…)` (patch/apply-patch.ts), then `decodeObject` on its result.
 * 2. With `hasStatus`: a write to the main resource keeps the old status, one to `/status` keeps all but the status.
 * 3. `trackUpdate(…)` (patch/track-update.ts) records who owns which field, for server-side apply. An apply patch has
 *    done that already. It must come before step 4, so that nobody owns what the server allocates.
 * 4. `prepareCreate` or `prepareUpdate`: defaults, allocation, validation (422). The server has set name (also from
 *    generateName), namespace, uid and creationTimestamp by then. A kind that counts generations sets
 *    `metadata.generation` to 1 in prepareCreate; the server adds one whenever labels, or more than metadata
 *    and status, change.
 * 5. If only the times in managedFields differ from the old object, nothing is written.
 *
 * One intended difference from a real server: endpoint addresses on loopback are accepted (Endpoints and
 * EndpointSlices), because the demo's backends and this server itself use them.
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
  /** Decoding, OpenAPI, strategic merge and server-side apply all follow it. */
  readonly schema: KindSchema
  /** Fields other than metadata.name and metadata.namespace that a fieldSelector may name, with how to read them. */
  readonly selectableFields: Readonly<Record<string, (object: ApiObject) => string>>
  readonly columns: readonly TableColumn[]
  cells(object: ApiObject, nowMs: number): readonly (string | number | boolean)[]
  /** Fills in defaults, allocates what must be unique, validates. Pure, except for the allocator. */
  prepareCreate(object: ApiObject, allocator: Allocator): Prepared
  prepareUpdate(object: ApiObject, old: ApiObject, allocator: Allocator): Prepared
  /** For a kind whose objects are stored as another kind, as events.k8s.io/v1 Events are stored as core Events. */
  readonly storedAs?: StoredAs
}

/** Translates to the kind that is stored, and back. Metadata stays as it is. */
export interface StoredAs {
  readonly group: string
  readonly plural: string
  toStored(object: ApiObject): ApiObject
  fromStored(object: ApiObject): ApiObject
}

/** Cluster IPs and node ports in use. It is derived from the store, so a crash cannot leak one. */
export interface Allocator {
  /** The families that have a range; the first is the default. */
  readonly families: readonly ('ipv4' | 'ipv6')[]
  /** Returns nothing if the range is used up. */
  nextClusterIP(family: 'ipv4' | 'ipv6'): string | undefined
  /** Why `owner` (`namespace/name`) cannot have this address, if it cannot. */
  refuseClusterIP(ip: string, owner: string): string | undefined
  /** A port that no Service uses for any protocol, and not one of `except`: one Service may need several at once. */
  nextNodePort(except: ReadonlySet<number>): number | undefined
  /** Also refuses ports outside the range of node ports. */
  refuseNodePort(port: number, protocol: string, owner: string): string | undefined
}
