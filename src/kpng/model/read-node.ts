/** Converts a Node of the Kubernetes API to KPNG's. */
import type { JsonObject } from '../../api/json-reader.ts'
import { isJsonObject } from '../../api/json-reader.ts'
import type { NodeRecord } from '../../api/records.ts'
import type { Node } from '../proto/generated/globalv1/api.ts'
import type { LabelFilter } from './label-globs.ts'

export interface NodeFilters {
  readonly labels: LabelFilter
  readonly annotations: LabelFilter
}

export function readNode({ name, zone }: NodeRecord, raw: JsonObject, filters: NodeFilters): Node {
  const metadata = isJsonObject(raw['metadata']) ? raw['metadata'] : {}
  return {
    Name: name,
    Labels: filters.labels(isJsonObject(metadata['labels']) ? metadata['labels'] : {}),
    Annotations: filters.annotations(isJsonObject(metadata['annotations']) ? metadata['annotations'] : {}),
    // The zone is sent even if its label is not.
    Topology: { Node: name, Zone: zone },
  }
}
