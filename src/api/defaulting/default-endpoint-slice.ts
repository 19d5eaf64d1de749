/** Fills in what an API server would fill in for an EndpointSlice. Fields of the wrong type stay as they are. */
import type { JsonObject } from '../json-reader.ts'
import { isJsonObject } from '../json-reader.ts'
import { isAbsent } from './absent.ts'

export function defaultEndpointSlice(slice: JsonObject): JsonObject {
  if (!Array.isArray(slice['ports'])) return slice
  return { ...slice, ports: slice['ports'].map(defaultPort) }
}

function defaultPort(port: unknown): unknown {
  if (!isJsonObject(port)) return port
  return { ...port, name: port['name'] ?? '', protocol: isAbsent(port['protocol']) ? 'TCP' : port['protocol'] }
}
