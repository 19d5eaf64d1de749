/** Fills in what an API server would fill in for an Endpoints object. Fields of the wrong type stay as they are. */
import type { JsonObject } from '../json-reader.ts'
import { isJsonObject } from '../json-reader.ts'
import { isAbsent } from './absent.ts'

export function defaultEndpoints(endpoints: JsonObject): JsonObject {
  if (!Array.isArray(endpoints['subsets'])) return endpoints
  return { ...endpoints, subsets: endpoints['subsets'].map(defaultSubset) }
}

function defaultSubset(subset: unknown): unknown {
  if (!isJsonObject(subset) || !Array.isArray(subset['ports'])) return subset
  return { ...subset, ports: subset['ports'].map(defaultPort) }
}

function defaultPort(port: unknown): unknown {
  return isJsonObject(port) && isAbsent(port['protocol']) ? { ...port, protocol: 'TCP' } : port
}
