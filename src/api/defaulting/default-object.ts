import type { JsonObject } from '../json-reader.ts'
import { defaultEndpointSlice } from './default-endpoint-slice.ts'
import { defaultEndpoints } from './default-endpoints.ts'
import { defaultNode } from './default-node.ts'
import { defaultService } from './default-service.ts'

/** Fills in what an API server would fill in; kinds without defaults stay as they are. */
export function defaultObject(object: JsonObject): JsonObject {
  switch (object['kind']) {
    case 'Service':
      return defaultService(object)
    case 'EndpointSlice':
      return defaultEndpointSlice(object)
    case 'Endpoints':
      return defaultEndpoints(object)
    case 'Node':
      return defaultNode(object)
    default:
      return object
  }
}
