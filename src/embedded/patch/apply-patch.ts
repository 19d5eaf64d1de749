/** Applies a patch of any format that the API knows. */
import { parse as parseYaml } from 'yaml'
import type { ApiObject, FieldError, ResourceType } from '../resource.ts'
import { isJsonObject } from '../../api/json-reader.ts'
import { decodeObject } from '../resources/decode-object.ts'
import { forbidden, required } from '../resources/field-errors.ts'
import { applyJsonPatch } from './json-patch.ts'
import { applyMergePatch } from './merge-patch.ts'
import { PatchError } from './patch-error.ts'
import { serverSideApply } from './server-side-apply.ts'
import { applyStrategicMergePatch } from './strategic-merge-patch.ts'

export interface PatchRequest {
  readonly contentType: string
  /** The parsed JSON; an apply patch may also be the text of a YAML document. */
  readonly body: unknown
  readonly current: ApiObject | undefined
  readonly resource: ResourceType
  readonly subresource?: 'status'
  readonly query: { readonly fieldManager?: string; readonly force?: boolean }
  readonly nowMs: number
}

export type PatchResult =
  | { readonly ok: true; readonly object: ApiObject }
  | {
      readonly ok: false
      readonly code: number
      readonly reason: string
      readonly message: string
      readonly causes?: readonly FieldError[]
    }

export function applyPatch(request: PatchRequest): PatchResult {
  const contentType = (request.contentType.split(';')[0] ?? '').trim().toLowerCase()
  if (contentType === 'application/apply-patch+yaml') return applyConfiguration(request)
  if (request.query.force === true)
    return invalidOptions(forbidden('force', 'may not be specified for non-apply patch'))
  const { current, body, resource } = request
  if (current === undefined)
    return refuse(404, 'NotFound', `a ${resource.kind} that does not exist can only be applied`)
  try {
    switch (contentType) {
      case 'application/json-patch+json':
        return patched(applyJsonPatch(current, body))
      case 'application/merge-patch+json':
        if (!isJsonObject(body)) throw new PatchError(400, 'a merge patch of an object must be a JSON object')
        return patched(applyMergePatch(current, body))
      case 'application/strategic-merge-patch+json':
        return patched(applyStrategicMergePatch(current, body, resource.schema))
      default:
        return refuse(415, 'UnsupportedMediaType', unsupported(contentType))
    }
  } catch (error) {
    if (!(error instanceof PatchError)) throw error
    return refuse(error.code, error.reason, error.message)
  }
}

function applyConfiguration({ body, current, resource, subresource, query, nowMs }: PatchRequest): PatchResult {
  const { fieldManager = '', force = false } = query
  if (fieldManager === '') return invalidOptions(required('fieldManager', 'is required for apply patch'))
  const parsed = typeof body === 'string' ? parseDocument(body) : body
  if (!isJsonObject(parsed)) return refuse(400, 'BadRequest', 'an apply patch must be a YAML or JSON object')
  for (const field of ['apiVersion', 'kind'])
    if (typeof parsed[field] !== 'string') return refuse(400, 'BadRequest', `an apply patch must have its ${field}`)
  const decoded = decodeObject(parsed, resource)
  if (!decoded.ok) return refuse(400, 'BadRequest', decoded.message)
  const { object: config, unknownFields } = decoded
  if (unknownFields.length > 0)
    return refuse(400, 'BadRequest', `failed to create typed patch object: ${unknownFields.join(', ')}`)
  if (config.metadata['managedFields'] !== undefined)
    return refuse(400, 'BadRequest', 'metadata.managedFields must be nil')
  const applied = serverSideApply({
    live: current,
    config,
    resource,
    fieldManager,
    force,
    subresource: subresource ?? '',
    nowMs,
  })
  return applied.ok ? applied : { ...refuse(409, 'Conflict', applied.message), causes: applied.causes }
}

function parseDocument(text: string): unknown {
  try {
    return parseYaml(text, { maxAliasCount: 0 })
  } catch {
    // The caller then reports that it is not an object.
    return undefined
  }
}

function patched(object: unknown): PatchResult {
  if (!isJsonObject(object)) return refuse(400, 'BadRequest', 'the patch would replace the object by something else')
  return { ok: true, object: object as unknown as ApiObject }
}

function invalidOptions(cause: FieldError): PatchResult {
  const message = `PatchOptions.meta.k8s.io "" is invalid: ${cause.field}: ${cause.message}`
  return { ok: false, code: 422, reason: 'Invalid', message, causes: [cause] }
}

function refuse(code: number, reason: string, message: string) {
  return { ok: false, code, reason, message } as const
}

function unsupported(contentType: string): string {
  const supported = ['json-patch+json', 'merge-patch+json', 'strategic-merge-patch+json', 'apply-patch+yaml']
  return (
    `the body of the request was in an unknown format - accepted media types include: ` +
    `${supported.map((type) => `application/${type}`).join(', ')}, not ${contentType}`
  )
}
