/** Decodes a parsed body into an object of the kind, and handles unknown fields as the client asked. */
import type { ResourceRequest } from './resource-request.ts'
import { decodeObject } from '../resources/decode-object.ts'
import type { ApiObject } from '../resource.ts'
import { badRequest } from '../status.ts'
import { fieldValidationOf } from './write-options.ts'

export interface DecodedBody {
  readonly object: ApiObject
  readonly warnings: readonly string[]
}

export function decodeBody(request: Pick<ResourceRequest, 'kind' | 'query' | 'request'>, body: unknown): DecodedBody {
  const { type } = request.kind
  const decoded = decodeObject(body, type)
  if (!decoded.ok) throw badRequest(decoded.message)
  const { object, unknownFields } = decoded
  const validation = fieldValidationOf(request)
  switch (validation) {
    case 'Ignore':
      return { object, warnings: [] }
    case 'Strict':
      if (unknownFields.length > 0)
        throw badRequest(
          `${type.kind} in version ${JSON.stringify(type.version)} cannot be handled as a ${type.kind}: ` +
            `strict decoding error: ${unknownFields.join(', ')}`,
        )
      return { object, warnings: [] }
    case 'Warn':
      return { object, warnings: unknownFields }
    default:
      return validation satisfies never
  }
}
