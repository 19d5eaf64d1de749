/** Creates an object: its name, what the server adds to its metadata, and the refusals. */
import { answerOf, preparedOrThrow, refuseTooLarge, timestamp } from './write.ts'
import type { WriteContext } from './write.ts'
import type { Kind } from './kinds.ts'
import { requireLiveNamespace } from '../cluster/namespaces.ts'
import type { ApiObject, ObjectMeta } from '../resource.ts'
import { alreadyExists, badRequest, invalid } from '../status.ts'
import type { Entry } from '../store/entry.ts'
import type { Transaction } from '../store/transaction.ts'

export interface CreateRequest {
  readonly kind: Kind
  readonly namespace: string | undefined
  readonly object: ApiObject
  readonly isDryRun: boolean
  /** Records who owns which field. Gets the object with its final metadata, before defaults and allocation. */
  track(object: ApiObject): ApiObject
}

/** As many as a real server tries. */
const generateAttempts = 8
/** With its suffix, a generated name is still a DNS label. */
const maxGeneratedBase = 58

export function createObject(transaction: Transaction, request: CreateRequest, context: WriteContext): Entry {
  const { kind, object } = request
  if ((object.metadata.resourceVersion ?? '') !== '')
    throw badRequest('resourceVersion should not be set on objects to be created')
  const namespace = namespaceFor(request)
  if (namespace !== undefined) requireLiveNamespace(transaction, namespace, kind.type, object.metadata.name)
  const name = freeName(transaction, request, namespace, context)
  const named = request.track({ ...object, metadata: newMetadata(object.metadata, name, namespace, context) })
  const prepared = preparedOrThrow(kind, name, kind.type.prepareCreate(named, context.allocator))
  const entry = transaction.put(kind.collection, kind.toStored(prepared))
  refuseTooLarge(entry)
  return answerOf(entry, undefined, request, transaction)
}

function namespaceFor({ kind, namespace, object }: CreateRequest): string | undefined {
  const given = object.metadata.namespace ?? ''
  if (!kind.type.isNamespaced) {
    if (given !== '') throw badRequest('namespace is not allowed on objects of this type, which are cluster-scoped')
    return undefined
  }
  if (namespace === undefined) throw badRequest('an empty namespace may not be set during creation')
  if (given !== '' && given !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  return namespace
}

function freeName(
  transaction: Transaction,
  { kind, object }: CreateRequest,
  namespace: string | undefined,
  context: WriteContext,
): string {
  const isTaken = (name: string) => transaction.get(kind.collection, namespace, name) !== undefined
  const { name } = object.metadata
  if (name !== undefined && name !== '') {
    if (isTaken(name)) throw alreadyExists(kind.type, name)
    return name
  }
  const { generateName } = object.metadata
  if (typeof generateName !== 'string' || generateName === '') {
    const message = 'Required value: name or generateName is required'
    throw invalid(kind.type, '', [{ field: 'metadata.name', reason: 'FieldValueRequired', message }])
  }
  for (let attempt = 1; ; attempt++) {
    const generated = generateName.slice(0, maxGeneratedBase) + context.nameSuffix()
    if (!isTaken(generated)) return generated
    if (attempt === generateAttempts) throw alreadyExists(kind.type, generated)
  }
}

/** What a client sends for the server's own fields is ignored. */
function newMetadata(
  given: ObjectMeta,
  name: string,
  namespace: string | undefined,
  context: WriteContext,
): ObjectMeta {
  const {
    name: _name,
    namespace: _namespace,
    resourceVersion: _resourceVersion,
    generation: _generation,
    deletionTimestamp: _deletionTimestamp,
    deletionGracePeriodSeconds: _deletionGracePeriodSeconds,
    selfLink: _selfLink,
    ...rest
  } = given
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...rest,
    uid: context.newUid(),
    creationTimestamp: timestamp(context.now()),
  }
}
