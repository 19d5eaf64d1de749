/**
 * EndpointSlices for an Endpoints object that was written by hand, by the rules of Kubernetes' mirroring controller. In
 * a cluster that controller does it, so objects from an API server are never mirrored here.
 */
import { familyOf, parseIp } from '../../net/ip.ts'
import { shownValue } from '../../net/shown-value.ts'
import { isJsonObject } from '../json-reader.ts'
import type { JsonObject } from '../json-reader.ts'
import { keyOfPort, repackSubsets } from './repack-subsets.ts'
import type { RepackedSubset } from './repack-subsets.ts'

export const managedByLabel = 'endpointslice.kubernetes.io/managed-by'
export const mirroringController = 'endpointslicemirroring-controller.k8s.io'
export const serviceNameLabel = 'kubernetes.io/service-name'

const skipLabel = 'endpointslice.kubernetes.io/skip-mirror'
const leaderAnnotation = 'control-plane.alpha.kubernetes.io/leader'
const annotationsNotCopied = new Set([
  'endpoints.kubernetes.io/last-change-trigger-time',
  'kubectl.kubernetes.io/last-applied-configuration',
])
/** The controller's default. */
const mostAddressesPerSubset = 1000

/** Why no slices are made for an Endpoints object. People get an explanation for each. */
export type NotMirrored = 'no Service' | 'selector' | 'skip label' | 'leader election'

export function whyNotMirrored(endpoints: JsonObject, service: JsonObject | undefined): NotMirrored | undefined {
  const { labels, annotations } = metadataOf(endpoints)
  if (labels[skipLabel] === 'true') return 'skip label'
  if (leaderAnnotation in annotations) return 'leader election'
  if (service === undefined) return 'no Service'
  const spec = isJsonObject(service['spec']) ? service['spec'] : {}
  // A selector without labels selects nothing and is stored as none.
  const hasSelector = isJsonObject(spec['selector']) && Object.keys(spec['selector']).length > 0
  return hasSelector ? 'selector' : undefined
}

interface MirroredSlice {
  /** Equal for the same ports and address type, whatever the addresses, so that a slice is changed and not replaced. */
  readonly key: string
  /** Without a name, which is given when it is stored. */
  readonly slice: JsonObject
}

export interface Mirrored {
  readonly slices: readonly MirroredSlice[]
  /** What could not be mirrored, as sentences. */
  readonly problems: readonly string[]
}

export function mirrorEndpoints(endpoints: JsonObject): Mirrored {
  const problems: string[] = []
  const desiredByKey = new Map<string, Desired>()
  for (const subset of repackSubsets(endpoints)) addSubset(subset, desiredByKey, problems)
  const slices = Array.from(desiredByKey, ([key, desired]) => ({ key, slice: sliceOf(endpoints, desired) }))
  return { slices: slices.sort((left, right) => (left.key < right.key ? -1 : 1)), problems }
}

/** The key that this slice was, or would be, made for. */
export function keyOfSlice({ addressType, ports }: JsonObject): string {
  const list = Array.isArray(ports) ? ports.filter(isJsonObject) : []
  return [addressType, ...list.map(keyOfPort).sort()].join(' ')
}

/** An endpoint that is listed twice counts once, with the values that were listed last. */
function identityOfEndpoint({ addresses, hostname, targetRef }: JsonObject): string {
  const { namespace, name } = isJsonObject(targetRef) ? targetRef : {}
  return JSON.stringify([addresses, hostname ?? '', namespace ?? '', name ?? ''])
}

interface Desired {
  readonly addressType: 'IPv4' | 'IPv6'
  readonly ports: readonly JsonObject[]
  readonly endpointsByIdentity: Map<string, JsonObject>
}

function addSubset(
  { ports, ready, notReady }: RepackedSubset,
  desiredByKey: Map<string, Desired>,
  problems: string[],
): void {
  const slicePorts = ports.map(slicePortOf)
  let added = 0
  let left = ready.length + notReady.length
  for (const [addresses, isReady] of [
    [ready, true],
    [notReady, false],
  ] as const)
    for (const address of addresses) {
      if (added >= mostAddressesPerSubset) break
      left--
      const ip = typeof address['ip'] === 'string' ? parseIp(address['ip']) : undefined
      if (ip === undefined) {
        problems.push(`${shownValue(address['ip'])} is not an IP address`)
        continue
      }
      const addressType = familyOf(ip) === 'ipv4' ? 'IPv4' : 'IPv6'
      const key = keyOfSlice({ addressType, ports: slicePorts })
      const desired = desiredByKey.get(key) ?? { addressType, ports: slicePorts, endpointsByIdentity: new Map() }
      desiredByKey.set(key, desired)
      const endpoint = endpointOf(address, ip, isReady)
      desired.endpointsByIdentity.set(identityOfEndpoint(endpoint), endpoint)
      added++
    }
  if (left > 0) problems.push(`at most ${mostAddressesPerSubset} addresses of a subset count; ${left} are left out`)
}

function endpointOf({ nodeName, hostname, targetRef }: JsonObject, ip: string, ready: boolean): JsonObject {
  return {
    addresses: [ip],
    conditions: { ready },
    ...(isJsonObject(targetRef) && { targetRef }),
    ...(typeof nodeName === 'string' && { nodeName }),
    ...(typeof hostname === 'string' && hostname !== '' && { hostname }),
  }
}

function slicePortOf({ name, protocol, port, appProtocol }: JsonObject): JsonObject {
  return {
    name: name ?? '',
    protocol: protocol ?? 'TCP',
    port,
    ...(appProtocol !== undefined && appProtocol !== null && { appProtocol }),
  }
}

function sliceOf(endpoints: JsonObject, { addressType, ports, endpointsByIdentity }: Desired): JsonObject {
  const { name, namespace, uid, labels, annotations } = metadataOf(endpoints)
  const copied = Object.entries(annotations).filter(([key]) => !annotationsNotCopied.has(key))
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      generateName: `${String(name)}-`,
      namespace,
      labels: { ...labels, [serviceNameLabel]: name, [managedByLabel]: mirroringController },
      ...(copied.length > 0 && { annotations: Object.fromEntries(copied) }),
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Endpoints', name, uid: uid ?? '', controller: true, blockOwnerDeletion: true },
      ],
    },
    addressType,
    endpoints: [...endpointsByIdentity.values()].slice(0, mostAddressesPerSubset),
    ports,
  }
}

function metadataOf({ metadata }: JsonObject): {
  readonly name: unknown
  readonly namespace: unknown
  readonly uid: unknown
  readonly labels: JsonObject
  readonly annotations: JsonObject
} {
  const { name, namespace, uid, labels, annotations } = isJsonObject(metadata) ? metadata : {}
  return {
    name,
    namespace,
    uid,
    labels: isJsonObject(labels) ? labels : {},
    annotations: isJsonObject(annotations) ? annotations : {},
  }
}
