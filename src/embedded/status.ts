/** API errors with Kubernetes' messages: kubectl prints the message, clients check reason and code. */
import type { FieldError, ResourceType } from './resource.ts'

export interface StatusCause {
  readonly reason: string
  readonly message: string
  readonly field?: string
}

export interface StatusDetails {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly StatusCause[]
  readonly retryAfterSeconds?: number
}

export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: number
  readonly reason: string
  readonly details: StatusDetails | undefined
  /** With 410 on a list: a token that continues it, with newer objects than on the first pages. */
  readonly continueToken: string | undefined

  constructor(
    code: number,
    reason: string,
    message: string,
    more: { details?: StatusDetails; continueToken?: string; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause })
    this.code = code
    this.reason = reason
    this.details = more.details
    this.continueToken = more.continueToken
  }
}

export function statusOf(error: ApiError): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: error.continueToken === undefined ? {} : { continue: error.continueToken },
    status: 'Failure',
    message: error.message,
    reason: error.reason,
    ...(error.details === undefined ? {} : { details: error.details }),
    code: error.code,
  }
}

/** The answer to a delete that took effect at once. */
export function successStatus(type: ResourceType, name: string, uid: string | undefined): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { ...objectDetails(type, name), ...(uid === undefined ? {} : { uid }) },
  }
}

export function notFound(type: ResourceType, name: string): ApiError {
  return new ApiError(404, 'NotFound', `${qualified(type)} "${name}" not found`, { details: objectDetails(type, name) })
}

export function noSuchResource(): ApiError {
  return new ApiError(404, 'NotFound', 'the server could not find the requested resource', { details: {} })
}

export function alreadyExists(type: ResourceType, name: string): ApiError {
  return new ApiError(409, 'AlreadyExists', `${qualified(type)} "${name}" already exists`, {
    details: objectDetails(type, name),
  })
}

export function conflict(
  type: ResourceType,
  name: string,
  why = 'the object has been modified; please apply your changes to the latest version and try again',
): ApiError {
  return new ApiError(409, 'Conflict', `Operation cannot be fulfilled on ${qualified(type)} "${name}": ${why}`, {
    details: objectDetails(type, name),
  })
}

export function forbidden(
  type: ResourceType,
  name: string,
  why: string,
  causes: readonly StatusCause[] = [],
): ApiError {
  return new ApiError(403, 'Forbidden', `${qualified(type)} "${name}" is forbidden: ${why}`, {
    details: { ...objectDetails(type, name), ...(causes.length === 0 ? {} : { causes }) },
  })
}

export function invalid(
  type: { readonly group: string; readonly kind: string },
  name: string,
  errors: readonly FieldError[],
): ApiError {
  const lines = errors.map((error) => `${error.field}: ${error.message}`)
  const kind = type.group === '' ? type.kind : `${type.kind}.${type.group}`
  const list = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`
  return new ApiError(422, 'Invalid', `${kind} "${name}" is invalid: ${list}`, {
    details: {
      ...(name === '' ? {} : { name }),
      ...(type.group === '' ? {} : { group: type.group }),
      kind: type.kind,
      causes: errors.map(({ reason, message, field }) => ({ reason, message, field })),
    },
  })
}

export function badRequest(message: string, cause?: unknown): ApiError {
  return new ApiError(400, 'BadRequest', message, { cause })
}

export function tooLarge(why: string): ApiError {
  return new ApiError(413, 'RequestEntityTooLarge', `Request entity too large: ${why}`)
}

export function tooManyRequests(): ApiError {
  return new ApiError(429, 'TooManyRequests', 'Too many requests, please try again later.', {
    details: { retryAfterSeconds: 1 },
  })
}

export function methodNotAllowed(): ApiError {
  return new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {
    details: {},
  })
}

export function unsupportedMediaType(accepted: readonly string[]): ApiError {
  return new ApiError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  )
}

export function notAcceptable(offered: readonly string[]): ApiError {
  return new ApiError(406, 'NotAcceptable', `only the following media types are accepted: ${offered.join(', ')}`)
}

export function expired(message: string, continueToken?: string): ApiError {
  return new ApiError(410, 'Expired', message, continueToken === undefined ? {} : { continueToken })
}

export function tooLargeResourceVersion(asked: number, current: number): ApiError {
  return new ApiError(504, 'Timeout', `Too large resource version: ${asked}, current: ${current}`, {
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  })
}

function objectDetails(type: ResourceType, name: string): StatusDetails {
  return { name, ...(type.group === '' ? {} : { group: type.group }), kind: type.plural }
}

/** `services`, `endpointslices.discovery.k8s.io` */
function qualified(type: ResourceType): string {
  return type.group === '' ? type.plural : `${type.plural}.${type.group}`
}
