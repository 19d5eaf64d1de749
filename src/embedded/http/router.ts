/** What a URL path names: discovery, a health check, or a resource of the API. */

export type Route =
  | { readonly kind: 'health' }
  | { readonly kind: 'version' }
  | { readonly kind: 'paths' }
  | { readonly kind: 'openapi-v2' }
  | { readonly kind: 'openapi-v3'; readonly groupVersion: string | undefined }
  | { readonly kind: 'core-versions' }
  | { readonly kind: 'groups' }
  | { readonly kind: 'group'; readonly group: string }
  | { readonly kind: 'resources'; readonly group: string; readonly version: string }
  | ResourceRoute
  | { readonly kind: 'unknown' }

export interface ResourceRoute {
  readonly kind: 'resource'
  readonly group: string
  readonly version: string
  readonly plural: string
  /** Absent for cluster-scoped resources and for all namespaces. */
  readonly namespace: string | undefined
  /** Absent for the collection. */
  readonly name: string | undefined
  readonly subresource: string | undefined
}

export function routeOf(path: string): Route {
  const parts = decodedParts(path)
  if (parts === undefined) return { kind: 'unknown' }
  const [root, ...rest] = parts
  switch (root) {
    case undefined:
      return { kind: 'paths' }
    case 'healthz':
    case 'livez':
    case 'readyz':
      return { kind: 'health' }
    case 'version':
      return rest.length === 0 ? { kind: 'version' } : { kind: 'unknown' }
    case 'openapi':
      return openApiRoute(rest)
    case 'api':
      return rest.length === 0 ? { kind: 'core-versions' } : versionRoute('', rest)
    case 'apis':
      return groupRoute(rest)
    default:
      return { kind: 'unknown' }
  }
}

/** Returns nothing if a part is not valid percent-encoding. */
function decodedParts(path: string): string[] | undefined {
  try {
    return path
      .split('/')
      .filter((part) => part !== '')
      .map(decodeURIComponent)
  } catch {
    return undefined
  }
}

function openApiRoute([version, ...rest]: readonly string[]): Route {
  if (version === 'v2' && rest.length === 0) return { kind: 'openapi-v2' }
  if (version === 'v3') return { kind: 'openapi-v3', groupVersion: rest.length === 0 ? undefined : rest.join('/') }
  return { kind: 'unknown' }
}

function groupRoute([group, ...rest]: readonly string[]): Route {
  if (group === undefined) return { kind: 'groups' }
  return rest.length === 0 ? { kind: 'group', group } : versionRoute(group, rest)
}

function versionRoute(group: string, [version = '', ...rest]: readonly string[]): Route {
  if (rest.length === 0) return { kind: 'resources', group, version }
  // "namespaces" is both a resource and the prefix of a namespaced path: what follows the name decides.
  if (rest[0] === 'namespaces' && rest[2] !== undefined && !isNamespaceSubresource(rest)) {
    const [, namespace, plural = '', name, subresource, ...tooMuch] = rest
    return tooMuch.length > 0
      ? { kind: 'unknown' }
      : { kind: 'resource', group, version, plural, namespace, name, subresource }
  }
  const [plural = '', name, subresource, ...tooMuch] = rest
  return tooMuch.length > 0
    ? { kind: 'unknown' }
    : { kind: 'resource', group, version, plural, namespace: undefined, name, subresource }
}

function isNamespaceSubresource(rest: readonly string[]): boolean {
  return rest.length === 3 && (rest[2] === 'status' || rest[2] === 'finalize')
}
