/** The path of an object within its set. Local paths have two or three segments, global ones always four. */

export interface EndpointPath {
  readonly service: string
  readonly key: string
}

export function servicePath(namespace: string, name: string): string {
  return `${namespace}/${name}`
}

/** `service` is the Service's path. Keys contain no slash, so that paths are unique. */
export function endpointPath(service: string, key: string): string {
  return `${service}/${key}`
}

/** Returns nothing for an invalid path: what a peer sends is not to be trusted. */
export function parseEndpointPath(path: string): EndpointPath | undefined {
  const segments = path.split('/')
  const [namespace, name, key] = segments
  if (segments.length !== 3 || !namespace || !name || !key) return undefined
  return { service: servicePath(namespace, name), key }
}

export function isServicePath(path: string): boolean {
  const [namespace, name, ...rest] = path.split('/')
  return Boolean(namespace) && Boolean(name) && rest.length === 0
}

export function globalServicePath(namespace: string, name: string): string {
  return `${namespace}|${name}||`
}

export function globalEndpointPath(namespace: string, service: string, source: string, hash: bigint): string {
  return `${namespace}|${service}|${source}|${hash.toString(16)}`
}

export function globalNodePath(name: string): string {
  return `|${name}||`
}

export interface GlobalPath {
  readonly namespace: string
  readonly name: string
  readonly source: string
  readonly key: string
}

export function parseGlobalPath(path: string): GlobalPath | undefined {
  const segments = path.split('|')
  const [namespace = '', name = '', source = '', key = ''] = segments
  return segments.length === 4 ? { namespace, name, source, key } : undefined
}
