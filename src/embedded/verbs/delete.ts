/** Deletes objects: at once, or by marking them if finalizers have to act first. */
import { answerOf, finalizersOf, timestamp } from './write.ts'
import type { Target, WriteContext } from './write.ts'
import { deleteNamespaceContents, refuseProtectedNamespace, removeEmptiedNamespace } from '../cluster/namespaces.ts'
import { conflict, notFound } from '../status.ts'
import type { Entry } from '../store/entry.ts'
import type { Transaction } from '../store/transaction.ts'

export interface DeleteRequest extends Target {
  readonly isDryRun: boolean
  readonly preconditions: Preconditions
}

export interface Preconditions {
  readonly uid?: string
  readonly resourceVersion?: string
}

export type Deleted =
  | { readonly isGone: true; readonly entry: Entry }
  /** Marked for deletion; finalizers keep it. */
  | { readonly isGone: false; readonly entry: Entry }

export function deleteObject(transaction: Transaction, request: DeleteRequest, context: WriteContext): Deleted {
  const { kind, namespace, name } = request
  const entry = transaction.get(kind.collection, namespace, name)
  if (entry === undefined) throw notFound(kind.type, name)
  refuseUnmet(request, entry)
  if (kind.collection === 'namespaces') refuseProtectedNamespace(kind.type, name)
  const deleted = deleteEntry(transaction, kind.collection, entry, context)
  removeEmptiedNamespace(transaction, namespace)
  return { ...deleted, entry: answerOf(deleted.entry, entry, request, transaction) }
}

/** Returns the objects as they were. */
export function deleteAll(
  transaction: Transaction,
  { kind, namespace }: Omit<Target, 'name'>,
  names: readonly string[],
  options: { readonly isDryRun: boolean },
  context: WriteContext,
): Entry[] {
  const deleted = names.flatMap((name) => {
    const current = transaction.get(kind.collection, namespace, name)
    if (current === undefined) return []
    const { entry } = deleteEntry(transaction, kind.collection, current, context)
    return [answerOf(entry, current, options, transaction)]
  })
  removeEmptiedNamespace(transaction, namespace)
  return deleted
}

function deleteEntry(transaction: Transaction, collection: string, entry: Entry, context: WriteContext): Deleted {
  const marked = () => markDeleted(transaction, collection, entry, context)
  if (finalizersOf(entry.object).length > 0) return { isGone: false, entry: marked() }
  if (collection === 'namespaces') {
    const isEmpty = deleteNamespaceContents(transaction, entry.name, (kind, content) =>
      deleteEntry(transaction, kind, content, context),
    )
    if (!isEmpty) return { isGone: false, entry: marked() }
  }
  return { isGone: true, entry: transaction.remove(collection, entry) }
}

function markDeleted(transaction: Transaction, collection: string, entry: Entry, context: WriteContext): Entry {
  const { object } = entry
  if (object.metadata.deletionTimestamp !== undefined) return entry
  const metadata = {
    ...object.metadata,
    deletionTimestamp: timestamp(context.now()),
    deletionGracePeriodSeconds: 0,
  }
  const status = collection === 'namespaces' ? { status: { ...(object.status as object), phase: 'Terminating' } } : {}
  return transaction.put(collection, { ...object, metadata, ...status })
}

function refuseUnmet({ kind, name, preconditions }: DeleteRequest, { object }: Entry): void {
  const { uid, resourceVersion } = object.metadata
  if (preconditions.uid !== undefined && preconditions.uid !== uid) {
    const uids = `UID in precondition: ${preconditions.uid}, UID in object meta: ${uid}`
    throw conflict(kind.type, name, `Precondition failed: ${uids}`)
  }
  if (preconditions.resourceVersion !== undefined && preconditions.resourceVersion !== resourceVersion) {
    const asked = `ResourceVersion in precondition: ${preconditions.resourceVersion}`
    throw conflict(kind.type, name, `Precondition failed: ${asked}, ResourceVersion in object meta: ${resourceVersion}`)
  }
}
