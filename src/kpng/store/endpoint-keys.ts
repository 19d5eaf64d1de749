/**
 * What an endpoint is called in its path. A pod's name when there is one, so that a pod that changes its address keeps
 * its path. KPNG stops there, and the two families of a dual-stack pod overwrite each other; here the pod's further
 * endpoints carry the name of their slice too, and what is still the same its hash.
 */
import type { ClusterEndpoint } from '../model/cluster-model.ts'

/** In the order of the endpoints; undefined for those that no pod stands for. */
export function endpointKeys(endpoints: readonly ClusterEndpoint[]): readonly (string | undefined)[] {
  const keys: (string | undefined)[] = endpoints.map(() => undefined)
  const taken = new Set<string>()
  for (const index of inOrderOfClaim(endpoints)) {
    const info = endpoints[index]?.info
    if (info === undefined || !isUsableKey(info.PodName)) continue
    const key = [info.PodName, `${info.PodName}@${info.SourceName}`].find((candidate) => !taken.has(candidate))
    const unique = key ?? `${info.PodName}@${info.SourceName}@${info.Hash.toString(16)}`
    taken.add(unique)
    keys[index] = unique
  }
  return keys
}

/** IPv4 takes the plain name: a single-stack backend sees the paths that it always saw. */
function inOrderOfClaim(endpoints: readonly ClusterEndpoint[]): readonly number[] {
  const rank = (index: number) => ((endpoints[index]?.info.Endpoint?.IPs?.V4.length ?? 0) > 0 ? 0 : 1)
  return [...endpoints.keys()].sort((left, right) => rank(left) - rank(right) || left - right)
}

function isUsableKey(pod: string): boolean {
  return pod !== '' && !pod.includes('/') && !pod.includes('@')
}
