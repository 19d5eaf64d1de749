/** Fills in what an API server would fill in for a Node. Fields of the wrong type stay as they are. */
import type { JsonObject } from '../json-reader.ts'
import { isJsonObject } from '../json-reader.ts'
import { isAbsent } from './absent.ts'

export function defaultNode(node: JsonObject): JsonObject {
  const { spec, status } = node
  return {
    ...node,
    ...(isJsonObject(spec) ? { spec: defaultSpec(spec) } : {}),
    ...(isJsonObject(status) ? { status: defaultStatus(status) } : {}),
  }
}

/** The singular and the plural field have the same content. */
function defaultSpec(spec: JsonObject): JsonObject {
  const { podCIDR, podCIDRs } = spec
  const isPluralEmpty = isAbsent(podCIDRs) || (Array.isArray(podCIDRs) && podCIDRs.length === 0)
  if (isPluralEmpty) return isAbsent(podCIDR) ? spec : { ...spec, podCIDRs: [podCIDR] }
  return isAbsent(podCIDR) && Array.isArray(podCIDRs) ? { ...spec, podCIDR: podCIDRs[0] as unknown } : spec
}

function defaultStatus(status: JsonObject): JsonObject {
  const { capacity, allocatable } = status
  return isJsonObject(capacity) && isAbsent(allocatable) ? { ...status, allocatable: capacity } : status
}
