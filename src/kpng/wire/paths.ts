/** Where an object is within its set. Local paths have two or three segments, global ones always four. */

export interface EndpointPath {
  readonly service: string
  readonly key: string
}

export function servicePath(namespace: string, name: string): string {
  return `${namespace}/${name}`
}

/** `service` is the Service's path. Keys hold no slash, so that nothing else can end in the same path. */
export function endpointPath(service: string, key: string): string {
  return `${service}/${key}`
}

/** Undefined for a path that is none: what a peer sends is not to be trusted. */
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
