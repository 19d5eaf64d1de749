/** PATCH changes the object as it is at that moment; an apply patch may also create it. */
import { createObject } from './create.ts'
import { decodeBody } from './decode.ts'
import { renderOne } from './render.ts'
import { fieldManagerOf, tracker } from './resource-request.ts'
import type { ResourceRequest } from './resource-request.ts'
import { refuseOtherName, updateObject } from './update.ts'
import { parseJson, readBody } from '../http/body.ts'
import type { Body } from '../http/body.ts'
import { booleanOf } from '../http/query.ts'
import type { Reply } from '../http/reply.ts'
import { applyPatch } from '../patch/apply-patch.ts'
import type { ApiObject } from '../resource.ts'
import { ApiError, unsupportedMediaType } from '../status.ts'
import { isDryRun } from './write-options.ts'

const mediaTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
]

export async function patchObject(request: ResourceRequest, name: string): Promise<Reply> {
  const { kind, route, store, context } = request
  const body = await readBody(request.request)
  if (!mediaTypes.includes(body.mediaType)) throw unsupportedMediaType(mediaTypes)
  const isApply = body.mediaType === 'application/apply-patch+yaml'
  // Apply has already recorded the owners.
  const track = isApply ? (object: ApiObject) => object : tracker(request)
  const patch = patcher(request, body)
  let warnings: readonly string[] = []
  const change = (current: ApiObject | undefined) => {
    const decoded = decodeBody(request, patch(current))
    warnings = decoded.warnings
    return decoded.object
  }
  const options = { kind, namespace: route.namespace, isDryRun: isDryRun(request), track }
  const { entry, isNew } = await store.write((transaction) => {
    const isThere = transaction.get(kind.collection, route.namespace, name) !== undefined
    if (!isThere && isApply && route.subresource === undefined) {
      const object = change(undefined)
      refuseOtherName(object, name)
      return { entry: createObject(transaction, { ...options, object }, context), isNew: true }
    }
    const subresource = route.subresource === 'status' ? ('status' as const) : undefined
    return { entry: updateObject(transaction, { ...options, name, subresource, change }, context), isNew: false }
  })
  return { ...renderOne(request, entry, isNew ? 201 : 200), warnings }
}

function patcher(request: ResourceRequest, { mediaType, text }: Body): (current: ApiObject | undefined) => ApiObject {
  const { kind, query, route, context } = request
  const isApply = mediaType === 'application/apply-patch+yaml'
  const body = isApply ? text : parseJson(text)
  const force = booleanOf(query, 'force')
  // An apply must name its manager; other patches may rely on the User-Agent.
  const fieldManager = isApply ? (query.get('fieldManager') ?? '') : fieldManagerOf(request)
  return (current) => {
    const result = applyPatch({
      contentType: mediaType,
      body,
      current,
      resource: kind.type,
      ...(route.subresource === 'status' ? { subresource: 'status' } : {}),
      query: { fieldManager, ...(force === undefined ? {} : { force }) },
      nowMs: context.now(),
    })
    if (result.ok) return result.object
    throw new ApiError(
      result.code,
      result.reason,
      result.message,
      result.causes === undefined ? {} : { details: { causes: result.causes } },
    )
  }
}
