/** Discovery as kubectl asks for it since 1.26: everything in two documents. */
import { groupsOf, statusVerbs, verbsOf, versionsOf } from './discovery.ts'
import { parseAccept } from '../http/accept.ts'
import type { ResourceType } from '../resource.ts'

export interface AggregatedDiscovery {
  readonly mediaType: string
  readonly document: object
}

/** Returns nothing if the client does not prefer the aggregated form. */
export function aggregatedDiscovery(
  accept: string | undefined,
  types: readonly ResourceType[],
  root: 'api' | 'apis',
): AggregatedDiscovery | undefined {
  const version = preferredVersion(accept)
  if (version === undefined) return undefined
  const groups = root === 'api' ? [{ name: '', versions: versionsOf(types, '') }] : groupsOf(types)
  return {
    mediaType: `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
    document: {
      kind: 'APIGroupDiscoveryList',
      apiVersion: `apidiscovery.k8s.io/${version}`,
      metadata: {},
      items: groups.map(({ name, versions }) => ({
        metadata: name === '' ? { creationTimestamp: null } : { name, creationTimestamp: null },
        versions: versions.map((v) => ({
          version: v,
          freshness: 'Current',
          resources: types.filter((type) => type.group === name && type.version === v).map(discoveredResource),
        })),
      })),
    },
  }
}

function preferredVersion(accept: string | undefined): 'v2' | 'v2beta1' | undefined {
  for (const { type, parameters } of parseAccept(accept)) {
    if (type !== 'application/json' && type !== '*/*') continue
    if (!parameters.has('as')) return undefined
    const version = parameters.get('v')
    const isDiscovery =
      parameters.get('g') === 'apidiscovery.k8s.io' && parameters.get('as') === 'APIGroupDiscoveryList'
    if (isDiscovery && (version === 'v2' || version === 'v2beta1')) return version
  }
  return undefined
}

function discoveredResource(type: ResourceType): object {
  const responseKind = { group: type.group, version: type.version, kind: type.kind }
  return {
    resource: type.plural,
    responseKind,
    scope: type.isNamespaced ? 'Namespaced' : 'Cluster',
    singularResource: type.singular,
    verbs: verbsOf(type),
    ...(type.shortNames.length === 0 ? {} : { shortNames: type.shortNames }),
    ...(type.categories.length === 0 ? {} : { categories: type.categories }),
    ...(type.hasStatus ? { subresources: [{ subresource: 'status', responseKind, verbs: statusVerbs }] } : {}),
  }
}
