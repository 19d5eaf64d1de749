/** Takes pods with a weight from the API server. One with a bad label is told once, and weighs as without. */
import { parsePodWeight, podWeightLabel } from '../../api/parse-pod-weight.ts'
import type { PodWeight } from '../../api/parse-pod-weight.ts'
import type { ObjectKey } from '../../api/records.ts'
import type { PodWeights } from '../../core/care/pod-weights.ts'
import type { Logger } from '../../core/logger.ts'
import type { KindSink } from '../kind-sink.ts'
import type { ResourceQuery } from './reflector/resource-query.ts'

export const podWeightQuery: ResourceQuery = {
  kind: 'Pod',
  resource: 'pods',
  path: '/api/v1/pods',
  labelSelector: podWeightLabel,
}

export function podWeightSink(weights: PodWeights, log: Logger): KindSink<PodWeight | undefined> {
  const told = new Map<ObjectKey, string>()
  const tell = ({ key, problem }: PodWeight) => {
    if (problem === undefined) told.delete(key)
    else if (told.get(key) !== problem) {
      told.set(key, problem)
      log.warn('part of an object is ignored', {
        object: `Pod ${key}`,
        field: `metadata.labels[${podWeightLabel}]`,
        reason: problem,
      })
    }
  }
  return {
    read(object) {
      const pod = parsePodWeight(object)
      if (pod !== undefined) tell(pod)
      return pod
    },
    replace(pods) {
      weights.replace(pods.flatMap((pod) => weighted(pod) ?? []))
    },
    upsert(pod) {
      if (pod !== undefined) weights.set(pod.key, weighted(pod))
    },
    remove(pod) {
      if (pod === undefined) return
      told.delete(pod.key)
      weights.set(pod.key, undefined)
    },
  }
}

function weighted(pod: PodWeight | undefined): Parameters<PodWeights['set']>[1] {
  if (pod?.weight === undefined) return undefined
  const { key, namespace, ips, weight } = pod
  return { key, namespace, ips, weight }
}
