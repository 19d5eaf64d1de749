/** Nothing is created outside a namespace, and deleting one deletes what it holds. */
import { finalizersOf } from '../verbs/write.ts'
import type { ResourceType } from '../resource.ts'
import { ApiError, forbidden } from '../status.ts'
import type { Entry } from '../store/entry.ts'
import type { Transaction } from '../store/transaction.ts'

const protectedNames = new Set(['default', 'kube-system', 'kube-public'])

export function refuseProtectedNamespace(type: ResourceType, name: string): void {
  if (protectedNames.has(name)) throw forbidden(type, name, 'this namespace may not be deleted')
}

export function requireLiveNamespace(
  transaction: Transaction,
  namespace: string,
  type: ResourceType,
  name: string | undefined,
): void {
  const entry = transaction.get('namespaces', undefined, namespace)
  if (entry === undefined)
    throw new ApiError(404, 'NotFound', `namespaces "${namespace}" not found`, {
      details: { name: namespace, kind: 'namespaces' },
    })
  if (entry.object.metadata.deletionTimestamp === undefined) return
  const message = `namespace ${namespace} is being terminated`
  throw forbidden(
    type,
    name ?? '',
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [{ reason: 'NamespaceTerminating', message, field: 'metadata.namespace' }],
  )
}

/** Returns whether nothing is left in it. */
export function deleteNamespaceContents(
  transaction: Transaction,
  namespace: string,
  deleteEntry: (kind: string, entry: Entry) => { readonly isGone: boolean },
): boolean {
  let isEmpty = true
  for (const kind of transaction.kinds) {
    for (const entry of transaction.inNamespace(kind, namespace)) {
      if (!deleteEntry(kind, entry).isGone) isEmpty = false
    }
  }
  return isEmpty
}

/** A namespace that waited for the finalizers of its last object is deleted with that object. */
export function removeEmptiedNamespace(transaction: Transaction, namespace: string | undefined): void {
  if (namespace === undefined || namespace === '') return
  const entry = transaction.get('namespaces', undefined, namespace)
  if (entry?.object.metadata.deletionTimestamp === undefined || finalizersOf(entry.object).length > 0) return
  for (const kind of transaction.kinds) if (transaction.inNamespace(kind, namespace).length > 0) return
  transaction.remove('namespaces', entry)
}
