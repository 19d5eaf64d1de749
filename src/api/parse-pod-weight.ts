/** A pod that says by label how many connections it shall get. */
import { parseIp } from '../net/ip.ts'
import { shownValue } from '../net/shown-value.ts'
import { isJsonObject } from './json-reader.ts'
import type { JsonObject } from './json-reader.ts'
import { isObjectName } from './object-name.ts'
import { weightRange } from './parse-weights.ts'
import { objectKey } from './records.ts'
import type { ObjectKey } from './records.ts'

export const podWeightLabel = 'fairlead.dev/weight'

export interface PodWeight {
  readonly key: ObjectKey
  readonly namespace: string
  readonly ips: readonly string[]
  /** Undefined: it has no label that can be read. */
  readonly weight: number | undefined
  readonly problem?: string
}

/** One with a weight that can be read. */
export type WeightedPod = Pick<PodWeight, 'key' | 'namespace' | 'ips'> & { readonly weight: number }

/** Undefined for what is no pod. */
export function parsePodWeight(raw: unknown): PodWeight | undefined {
  const { metadata, status } = isJsonObject(raw) ? raw : nothing
  const { namespace, name, labels } = isJsonObject(metadata) ? metadata : nothing
  if (!isObjectName(namespace) || !isObjectName(name)) return undefined
  const label = isJsonObject(labels) ? labels[podWeightLabel] : undefined
  const weight = typeof label === 'string' && /^\d{1,4}$/.test(label) ? Number(label) : Number.NaN
  const pod = { key: objectKey({ namespace, name }), namespace, ips: ipsIn(isJsonObject(status) ? status : nothing) }
  if (weight <= weightRange.max) return { ...pod, weight }
  const problem = `must be a weight from ${weightRange.min} to ${weightRange.max}, not ${shownValue(label)}`
  return { ...pod, weight: undefined, problem }
}

const nothing: JsonObject = {}

/** One that has ended keeps its addresses until it is deleted, although others may get them. */
function ipsIn({ phase, podIP, podIPs }: JsonObject): readonly string[] {
  if (phase === 'Succeeded' || phase === 'Failed') return []
  const listed = Array.isArray(podIPs) ? podIPs.map((it: unknown) => (isJsonObject(it) ? it['ip'] : undefined)) : []
  const texts = [podIP, ...listed].filter((text) => typeof text === 'string')
  return [...new Set(texts.map(parseIp).filter((ip) => ip !== undefined))]
}
