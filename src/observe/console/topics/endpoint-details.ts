/** The endpoints of one port: where each is, what it gets of new connections to the cluster IP, and why not. */
import { objectKey } from '../../../api/records.ts'
import type { ServiceRecord, SliceEndpoint, SliceRecord } from '../../../api/records.ts'
import type { Explanation, NotAnswering } from '../../../core/explain/explanation.ts'
import { whyNotText } from '../../../core/explain/words.ts'
import type { Scene } from '../../../core/explain/world.ts'
import type { Route } from '../../../core/route.ts'
import { zonesOf } from '../../../core/routing/endpoints.ts'
import type { Traffic } from '../../../core/traffic.ts'
import type { CarriedView } from '../../traffic/traffic-book.ts'
import type { EndpointDetail } from '../wire.ts'
import { secondsSince, trafficInShort } from './traffic-in-short.ts'

export interface EndpointParts {
  readonly record: ServiceRecord
  readonly route: Route
  /** For a pod on this node. */
  readonly atClusterIp: Explanation
  readonly scene: Scene
  /** Of the family; undefined: nothing has been read. */
  readonly numbers: CarriedView | undefined
}

export function endpointDetails(parts: EndpointParts): readonly EndpointDetail[] {
  const { record, route, atClusterIp, scene } = parts
  const slices = [...scene.catalog.slicesOf(objectKey(record)).values()]
  const known = new Set(route.endpoints.map(({ address }) => address))
  const others = atClusterIp.others.filter(
    // Those of the other family are those of another port where both are served.
    ({ address, why }) => !known.has(address) && !(why === 'other family' && isDualStack(record)),
  )
  return [...listed(parts, slices), ...unlisted(others, slices), ...stillInUse(parts, known)]
}

function listed({ route, atClusterIp, numbers }: EndpointParts, slices: readonly SliceRecord[]) {
  const zones = zonesOf(slices)
  const shares = new Map(atClusterIp.answerers.map(({ address, share }) => [address, share]))
  const reasons = new Map(atClusterIp.others.map((other) => [other.address, whyNotText(other)]))
  const trafficOf = trafficByAddress(route, numbers)
  return route.endpoints.map((endpoint): EndpointDetail => {
    const { address, ip, nodeName, isLocal } = endpoint
    const share = shares.get(address)
    const whyNot = reasons.get(address)
    return {
      address,
      ...placed(nodeName, zones.get(ip), isLocal),
      state: stateOf(endpoint),
      ...(share && { share: share.part / share.of }),
      ...(whyNot !== undefined && { whyNot }),
      ...trafficOf(address),
    }
  })
}

/** Such as one whose slice does not have the port. */
function unlisted(others: readonly NotAnswering[], slices: readonly SliceRecord[]): readonly EndpointDetail[] {
  if (others.length === 0) return []
  const endpointsByIp = new Map(slices.flatMap(({ endpoints }) => endpoints.map((it) => [it.ip, it] as const)))
  return others.map((other) => {
    const endpoint = endpointsByIp.get(ipOf(other.address))
    return {
      address: other.address,
      ...placed(other.nodeName, other.zone, other.isLocal),
      state: endpoint === undefined ? 'not ready' : stateOf(endpoint),
      whyNot: whyNotText(other),
    }
  })
}

/** `10.64.0.1:80`, `10.64.0.1`, `[fd00::1]:80` or `fd00::1`. */
function ipOf(address: string): string {
  const inBrackets = /^\[(.*)\]/.exec(address)?.[1]
  return inBrackets ?? (address.split(':').length === 2 ? address.slice(0, address.indexOf(':')) : address)
}

function stillInUse({ route, numbers }: EndpointParts, known: ReadonlySet<string>): readonly EndpointDetail[] {
  const trafficOf = trafficByAddress(route, numbers)
  return [...endpointsIn(route, numbers)]
    .filter(([address, { open = 0 }]) => open > 0 && !known.has(address))
    .map(([address]) => ({
      address,
      state: 'terminating',
      whyNot: 'in no slice any more, but connections to it are open',
      ...trafficOf(address),
    }))
}

function trafficByAddress(
  route: Route,
  numbers: CarriedView | undefined,
): (address: string) => Pick<EndpointDetail, 'traffic'> {
  if (numbers === undefined) return () => ({})
  const now = endpointsIn(route, numbers)
  const before = numbers.before?.traffic.get(route.key)?.endpoints
  const seconds = secondsSince(numbers)
  return (address) => {
    const traffic = now.get(address)
    return traffic === undefined ? {} : { traffic: trafficInShort(traffic, before?.get(address), seconds) }
  }
}

const none: ReadonlyMap<string, Traffic> = new Map()

function endpointsIn({ key }: Route, numbers: CarriedView | undefined): ReadonlyMap<string, Traffic> {
  return numbers?.traffic.get(key)?.endpoints ?? none
}

function placed(nodeName: string, zone: string | undefined, isLocal: boolean) {
  return {
    ...(nodeName !== '' && { node: nodeName }),
    ...(zone !== undefined && { zone }),
    ...(isLocal && { isLocal }),
  }
}

function stateOf({ ready, serving, terminating }: Pick<SliceEndpoint, 'ready' | 'serving' | 'terminating'>) {
  if (terminating) return serving ? 'terminating, still serving' : 'terminating'
  return ready ? 'ready' : 'not ready'
}

function isDualStack({ clusterIPs }: ServiceRecord): boolean {
  return clusterIPs.ipv4 !== undefined && clusterIPs.ipv6 !== undefined
}
