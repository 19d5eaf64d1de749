/** Which kind of object a manifest holds, as far as Fairlead is concerned. */
import type { JsonObject } from '../../api/json-reader.ts'
import { nearestName } from '../../net/nearest-name.ts'
import { shownValue } from '../../net/shown-value.ts'

/** The first is the current one; the others are read as well. */
const apiVersions = {
  Service: ['v1'],
  EndpointSlice: ['discovery.k8s.io/v1', 'discovery.k8s.io/v1beta1'],
  Endpoints: ['v1'],
  Node: ['v1'],
  ServiceCIDR: ['networking.k8s.io/v1', 'networking.k8s.io/v1beta1', 'networking.k8s.io/v1alpha1'],
  Namespace: ['v1'],
} as const satisfies Readonly<Record<string, readonly [string, ...string[]]>>

export type ManifestKind = keyof typeof apiVersions

const kinds = Object.keys(apiVersions) as ManifestKind[]
/** These differ so little from "Node" that they would be taken for a typo. */
const otherShortKinds = new Set(['Pod', 'Role', 'Job'])

export type KindOfObject =
  | { readonly is: 'read'; readonly kind: ManifestKind }
  /** Nothing that a proxy needs. */
  | { readonly is: 'other'; readonly kind: string }
  | { readonly is: 'mistake'; readonly reason: string }

export function kindOfObject({ kind: given, apiVersion }: JsonObject): KindOfObject {
  const name = String(given)
  const kind = kinds.find((known) => known === name)
  if (kind === undefined) {
    const nearest = otherShortKinds.has(name) ? undefined : nearestKind(name)
    if (nearest === undefined) return { is: 'other', kind: shownValue(name).slice(1, -1) }
    return { is: 'mistake', reason: `kind ${shownValue(name)} is unknown, did you mean "${nearest}"?` }
  }
  const read: readonly string[] = apiVersions[kind]
  // Without an apiVersion the kind is clear enough; items of a list often have none.
  if (apiVersion === undefined || apiVersion === null || read.some((known) => known === apiVersion))
    return { is: 'read', kind }
  const version = typeof apiVersion === 'string' && apiVersion.length < 100 ? apiVersion : ''
  const [group = ''] = version.split('/')
  // A kind of the same name in another API group, such as a Knative Service.
  const isForeign = group.includes('.') && !read.some((known) => known.startsWith(`${group}/`))
  if (isForeign) return { is: 'other', kind: `${version} ${kind}` }
  return { is: 'mistake', reason: `apiVersion ${shownValue(apiVersion)} is unknown for kind ${kind}: write ${read[0]}` }
}

function nearestKind(name: string): string | undefined {
  const nearest = nearestName(name.slice(0, 100), kinds)
  // A ServiceAccount is not a mistyped Service.
  return nearest !== undefined && Math.abs(nearest.length - name.length) <= 2 ? nearest : undefined
}
