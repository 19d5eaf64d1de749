/** Replaces an object, whole or in part, unless it was changed in between. */
import { isDeepStrictEqual } from 'node:util'
import { answerOf, finalizersOf, preparedOrThrow, refuseTooLarge } from './write.ts'
import type { Target, WriteContext } from './write.ts'
import { removeEmptiedNamespace } from '../cluster/namespaces.ts'
import type { ApiObject, ObjectMeta } from '../resource.ts'
import { badRequest, conflict, notFound } from '../status.ts'
import type { Entry } from '../store/entry.ts'
import type { Transaction } from '../store/transaction.ts'

export interface UpdateRequest extends Target {
  readonly subresource: 'status' | undefined
  readonly isDryRun: boolean
  /** Returns the object as the client wants it, given the current one. */
  change(current: ApiObject): ApiObject
  /** Records who owns which field; see CreateRequest. */
  track(object: ApiObject, current: ApiObject): ApiObject
}

export function updateObject(transaction: Transaction, request: UpdateRequest, context: WriteContext): Entry {
  const { kind, namespace, name } = request
  const old = transaction.get(kind.collection, namespace, name)
  if (old === undefined) throw notFound(kind.type, name)
  const current = kind.present(old).object
  const wanted = request.change(current)
  refuseOtherIdentity(wanted, current, request)
  const merged = mergedWith(current, wanted, request)
  const tracked = request.track(merged, current)
  const prepared = preparedOrThrow(kind, name, kind.type.prepareUpdate(tracked, current, context.allocator))
  if (isSame(prepared, current)) return old
  const stored = kind.toStored(withGeneration(prepared, current))
  const entry = transaction.put(kind.collection, stored)
  refuseTooLarge(entry)
  const isLetGo = entry.object.metadata.deletionTimestamp !== undefined && finalizersOf(entry.object).length === 0
  if (isLetGo) {
    transaction.remove(kind.collection, entry)
    removeEmptiedNamespace(transaction, namespace)
  }
  return answerOf(entry, old, request, transaction)
}

export function refuseOtherName({ metadata }: ApiObject, name: string): void {
  if (metadata.name !== name)
    throw badRequest(`the name of the object (${metadata.name ?? ''}) does not match the name on the URL (${name})`)
}

function refuseOtherIdentity(wanted: ApiObject, current: ApiObject, { kind, namespace, name }: Target): void {
  const { metadata } = wanted
  refuseOtherName(wanted, name)
  if (namespace !== undefined && (metadata.namespace ?? namespace) !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  if (metadata.uid !== undefined && metadata.uid !== '' && metadata.uid !== current.metadata.uid) {
    const uids = `UID in precondition: ${metadata.uid}, UID in object meta: ${current.metadata.uid}`
    throw conflict(kind.type, name, `Precondition failed: ${uids}`)
  }
  // Without a resourceVersion an update is unconditional.
  const { resourceVersion = '' } = metadata
  if (resourceVersion !== '' && resourceVersion !== current.metadata.resourceVersion) throw conflict(kind.type, name)
}

/** Takes from the client what this path may change, and the rest from the current object. */
function mergedWith(current: ApiObject, wanted: ApiObject, { kind, subresource }: UpdateRequest): ApiObject {
  if (subresource === 'status') {
    const { managedFields = current.metadata.managedFields } = wanted.metadata
    const metadata = managedFields === undefined ? current.metadata : { ...current.metadata, managedFields }
    return withStatus({ ...current, metadata }, wanted.status)
  }
  const metadata = keptMetadata(wanted.metadata, current.metadata)
  return withStatus({ ...wanted, metadata }, kind.type.hasStatus ? current.status : wanted.status)
}

function withStatus(object: ApiObject, status: unknown): ApiObject {
  const { status: _status, ...rest } = object
  return status === undefined ? rest : { ...rest, status }
}

const serverFields = [
  'uid',
  'creationTimestamp',
  'generation',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const

function keptMetadata(wanted: ObjectMeta, current: ObjectMeta): ObjectMeta {
  const metadata: Record<string, unknown> = { ...wanted, name: current.name }
  if (current.namespace !== undefined) metadata['namespace'] = current.namespace
  for (const field of [...serverFields, 'resourceVersion'] as const) {
    if (current[field] === undefined) delete metadata[field]
    else metadata[field] = current[field]
  }
  return metadata as unknown as ObjectMeta
}

/** Kinds that count generations (EndpointSlices) count changes of labels and of everything but metadata and status. */
function withGeneration(object: ApiObject, current: ApiObject): ApiObject {
  const { generation } = current.metadata
  if (generation === undefined || isDeepStrictEqual(contentOf(object), contentOf(current))) return object
  return { ...object, metadata: { ...object.metadata, generation: generation + 1 } }
}

function contentOf(object: ApiObject): object {
  const { metadata, status: _status, ...content } = object
  return { ...content, labels: metadata.labels ?? {} }
}

/** Who wrote a field last, and when, is not a change by itself. */
function isSame(object: ApiObject, current: ApiObject): boolean {
  return isDeepStrictEqual(comparable(object), comparable(current))
}

function comparable(object: ApiObject): object {
  const { managedFields, resourceVersion: _resourceVersion, ...metadata } = object.metadata
  const managers = Array.isArray(managedFields)
    ? (managedFields as Record<string, unknown>[]).map(({ time: _time, ...manager }) => manager)
    : []
  // Through JSON, because to clients an undefined field is an absent one.
  return JSON.parse(JSON.stringify({ ...object, metadata: { ...metadata, managers } })) as object
}
