/** What each verb on a resource does and answers. */
import { createObject } from './create.ts'
import { decodeBody } from './decode.ts'
import { deleteAll, deleteObject } from './delete.ts'
import type { Preconditions } from './delete.ts'
import { listObjects } from './list.ts'
import { patchObject } from './patch.ts'
import { renderOne, renderPage } from './render.ts'
import { tracker } from './resource-request.ts'
import type { ResourceRequest } from './resource-request.ts'
import { updateObject } from './update.ts'
import { parseObject, readBody } from '../http/body.ts'
import { parseListQuery, parseSelection } from '../http/query.ts'
import type { Reply } from '../http/reply.ts'
import { methodNotAllowed, noSuchResource, notFound, successStatus } from '../status.ts'
import { entryKey } from '../store/entry.ts'
import { isDryRun } from './write-options.ts'

export async function answerResource(request: ResourceRequest): Promise<Reply> {
  const { route, kind } = request
  const { method = 'GET' } = request.request
  if (route.subresource !== undefined && !(route.subresource === 'status' && kind.type.hasStatus))
    throw noSuchResource()
  const { name } = route
  if (name === undefined) return answerCollection(request, method)
  switch (method) {
    case 'GET':
      return getOne(request, name)
    case 'PUT':
      return update(request, name)
    case 'PATCH':
      return patchObject(request, name)
    case 'DELETE':
      if (route.subresource !== undefined) throw methodNotAllowed()
      return deleteOne(request, name)
    default:
      throw methodNotAllowed()
  }
}

async function answerCollection(request: ResourceRequest, method: string): Promise<Reply> {
  const { route, kind } = request
  switch (method) {
    case 'GET':
      return renderPage(
        request,
        listObjects(request.store, kind, route.namespace, parseListQuery(request.query, kind.type)),
      )
    case 'POST':
      if (route.namespace === undefined && kind.type.isNamespaced) throw methodNotAllowed()
      return create(request)
    case 'DELETE':
      // Deleting all namespaces can only be a mistake.
      if (kind.collection === 'namespaces') throw methodNotAllowed()
      if (route.namespace === undefined && kind.type.isNamespaced) throw methodNotAllowed()
      return deleteCollection(request)
    default:
      throw methodNotAllowed()
  }
}

function getOne(request: ResourceRequest, name: string): Reply {
  const { kind, route, store } = request
  const entry = store.get(kind.collection, entryKey(route.namespace, name))
  if (entry === undefined) throw notFound(kind.type, name)
  return renderOne(request, entry, 200)
}

async function create(request: ResourceRequest): Promise<Reply> {
  const { kind, route, store, context } = request
  const { object, warnings } = decodeBody(request, parseObject(await readBody(request.request), kind.type.schema))
  const track = tracker(request)
  const entry = await store.write((transaction) =>
    createObject(
      transaction,
      { kind, namespace: route.namespace, object, isDryRun: isDryRun(request), track },
      context,
    ),
  )
  return { ...renderOne(request, entry, 201), warnings }
}

/** Kinds that a PUT creates if they do not exist. */
const createdByUpdate = new Set(['services', 'endpoints', 'events'])

async function update(request: ResourceRequest, name: string): Promise<Reply> {
  const { kind, route, store, context } = request
  const { object, warnings } = decodeBody(request, parseObject(await readBody(request.request), kind.type.schema))
  const subresource = route.subresource === 'status' ? 'status' : undefined
  const options = {
    kind,
    namespace: route.namespace,
    isDryRun: isDryRun(request),
    track: tracker(request),
  }
  const mayCreate = subresource === undefined && createdByUpdate.has(kind.collection) && object.metadata.name === name
  const { entry, isNew } = await store.write((transaction) => {
    const isThere = transaction.get(kind.collection, route.namespace, name) !== undefined
    if (!isThere && mayCreate) return { entry: createObject(transaction, { ...options, object }, context), isNew: true }
    const change = () => object
    return { entry: updateObject(transaction, { ...options, name, subresource, change }, context), isNew: false }
  })
  return { ...renderOne(request, entry, isNew ? 201 : 200), warnings }
}

/** Deleting one of these returns the object, deleting others a Status. */
const returnsDeleted = new Set(['services', 'namespaces'])

async function deleteOne(request: ResourceRequest, name: string): Promise<Reply> {
  const { kind, route, store, context } = request
  const options = await readDeleteOptions(request)
  const deleted = await store.write((transaction) =>
    deleteObject(transaction, { kind, namespace: route.namespace, name, ...options }, context),
  )
  if (!deleted.isGone || returnsDeleted.has(kind.collection)) return renderOne(request, deleted.entry, 200)
  return { status: 200, body: successStatus(kind.type, name, deleted.entry.object.metadata.uid) }
}

async function deleteCollection(request: ResourceRequest): Promise<Reply> {
  const { kind, route, store, query, context } = request
  const options = await readDeleteOptions(request)
  const selection = parseSelection(query, kind.type)
  const everything = { selection, limit: 0, continueToken: undefined, revision: undefined, match: undefined }
  const entries = await store.write((transaction) => {
    const page = listObjects(store, kind, route.namespace, everything)
    const names = page.items.map(({ object }) => object.metadata.name)
    return deleteAll(transaction, { kind, namespace: route.namespace }, names, options, context)
  })
  const items = entries.map((entry) => kind.present(entry))
  return renderPage(request, { items, metadata: { resourceVersion: String(store.revision) } })
}

interface DeleteOptions {
  readonly dryRun?: readonly unknown[]
  readonly preconditions?: Preconditions
}

/** DeleteOptions are in the body, or in query parameters. */
async function readDeleteOptions(
  request: ResourceRequest,
): Promise<{ readonly isDryRun: boolean; readonly preconditions: Preconditions }> {
  const body = await readBody(request.request)
  const options: DeleteOptions = body.text.trim() === '' ? {} : parseObject(body)
  const dryRun = Array.isArray(options.dryRun) ? options.dryRun : []
  return {
    isDryRun: isDryRun(request, dryRun),
    preconditions: options.preconditions ?? {},
  }
}
