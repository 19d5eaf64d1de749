/** The sets that kube-proxy's ipvs mode makes, and ours. */
import { ipSets, setIds, setName } from '../../backends/ipvs/ip-sets.ts'
import { families } from '../../net/ip.ts'

const typesByName: ReadonlyMap<string, string> = new Map(
  families.flatMap((family) => setIds.map((id) => [setName(id, family), ipSets[id].type])),
)

/** Both must fit: a set of the same name but another kind is somebody else's. */
export function isProxySet(name: string, type: string): boolean {
  return typesByName.get(name) === type
}
