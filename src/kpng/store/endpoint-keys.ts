/**
 * The last part of an endpoint's path. It is the pod's name if there is one, so that a pod which changes its address
 * keeps its path. In KPNG the two families of a dual-stack pod then overwrite each other. Here further endpoints of the
 * pod also have the name of their slice, and if that is not unique, their hash.
 */
import type { ClusterEndpoint } from '../model/cluster-model.ts'

/** In the order of the endpoints; empty for those without a pod. */
export function endpointKeys(endpoints: readonly ClusterEndpoint[]): readonly (string | undefined)[] {
  const keys: (string | undefined)[] = endpoints.map(() => undefined)
  const taken = new Set<string>()
  for (const index of ipv4First(endpoints)) {
    const info = endpoints[index]?.info
    if (info === undefined || !isUsableKey(info.PodName)) continue
    const key = [info.PodName, `${info.PodName}@${info.SourceName}`].find((candidate) => !taken.has(candidate))
    const unique = key ?? `${info.PodName}@${info.SourceName}@${info.Hash.toString(16)}`
    taken.add(unique)
    keys[index] = unique
  }
  return keys
}

/** IPv4 gets the plain name, so that a single-stack backend sees the same paths as before. */
function ipv4First(endpoints: readonly ClusterEndpoint[]): readonly number[] {
  const rank = (index: number) => ((endpoints[index]?.info.Endpoint?.IPs?.V4.length ?? 0) > 0 ? 0 : 1)
  return [...endpoints.keys()].sort((left, right) => rank(left) - rank(right) || left - right)
}

function isUsableKey(pod: string): boolean {
  return pod !== '' && !pod.includes('/') && !pod.includes('@')
}
