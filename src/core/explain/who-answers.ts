/** Who may answer and with what share, and why each of the others may not. */
import { objectKey } from '../../api/records.ts'
import type { SlicePort, TrafficPolicy } from '../../api/records.ts'
import { hostPort } from '../../net/ip.ts'
import type { Endpoint, Route } from '../route.ts'
import { choiceOf, whyUnused } from '../routing/categorize.ts'
import type { Choice, Place, WhyUnused } from '../routing/categorize.ts'
import { unlistedEndpoints } from '../routing/endpoints.ts'
import type { ZonesByIp } from '../routing/endpoints.ts'
import { kernelspaceChoice } from '../routing/kernelspace-rules.ts'
import type { Answerer, ExplainedEndpoint, NotAnswering, Share } from './explanation.ts'
import type { Choosing } from './mode-traits.ts'
import type { SeenRule } from './source-seen.ts'
import type { Serving } from './treatment.ts'
import type { Scene } from './world.ts'

/** In a range, the port is the one that was asked for. */
export function answerers(
  serving: Serving,
  shares: Choosing['shares'],
  seen: SeenRule,
  zones: ZonesByIp,
  portInRange?: number,
): readonly Answerer[] {
  const partOf = ({ weight }: Endpoint) => (isDraining || shares === 'equal' ? 1 : weight)
  const isDraining = serving.endpoints.every(({ weight }) => weight === 0)
  const of = serving.endpoints.reduce((sum, endpoint) => sum + partOf(endpoint), 0)
  const share = (endpoint: Endpoint): { readonly share?: Share } =>
    shares !== 'not known' || serving.endpoints.length === 1 ? { share: { part: partOf(endpoint), of } } : {}
  return serving.endpoints.map((endpoint) => ({
    ...described(endpoint, zones),
    ...(portInRange !== undefined && { address: hostPort(endpoint.ip, portInRange) }),
    ...share(endpoint),
    sourceSeen: seen.of(endpoint),
    isLastResort: !endpoint.ready,
  }))
}

export function othersThan(serving: Serving, route: Route, scene: Scene, zones: ZonesByIp): readonly NotAnswering[] {
  const { view, policy } = scene.table
  const place = { nodeName: view.node.name, zone: view.node.zone }
  const used = new Set(serving.endpoints)
  const choice = choiceFor(serving.policy, route, place, scene)
  // Kernelspace closes some entrances while only the last resort is left.
  const strict: Choice = { ...choice, standard: policy.endpointRules === 'kernelspace' ? 'ready and serving' : 'ready' }
  const unused = route.endpoints
    .filter((endpoint) => !used.has(endpoint))
    .map((endpoint) => {
      const why = whyUnused(endpoint, choice, place) ?? whyUnused(endpoint, strict, place) ?? 'not ready'
      return { ...described(endpoint, zones), why, ...detailOf(why, endpoint, place) }
    })
  return [...unused, ...unlisted(route, scene)]
}

function choiceFor(policy: TrafficPolicy, route: Route, place: Place, { table }: Scene): Choice {
  const hasLoadBalancerIPs = route.entrances.some(({ kind }) => kind === 'load-balancer-ip')
  return table.policy.endpointRules === 'kernelspace'
    ? kernelspaceChoice(route.endpoints, policy, place, hasLoadBalancerIPs)
    : choiceOf(route.endpoints, policy, place)
}

function detailOf(
  why: WhyUnused,
  { zoneHints, nodeHints }: Endpoint,
  { nodeName, zone }: Place,
): { readonly detail?: string } {
  if (why === 'for another zone')
    return { detail: `its hints say ${zoneHints.join(', ')}, and this node is in ${zone === '' ? 'no zone' : zone}` }
  if (why === 'for another node')
    return { detail: `its hints say ${nodeHints.join(', ')}, and this node is ${nodeName}` }
  return {}
}

function unlisted(route: Route, { catalog, family, table }: Scene): readonly NotAnswering[] {
  const { portName: name, protocol } = route
  const slices = catalog.slicesOf(objectKey(route)).values()
  return unlistedEndpoints(slices, family, { name, protocol }, table.policy).map(({ endpoint, why, ports }) => {
    const { ip, nodeName, zone } = endpoint
    const [port] = ports
    return {
      address: why === 'no such port' || port === undefined ? ip : hostPort(ip, port.port),
      nodeName,
      ...(zone !== undefined && { zone }),
      isLocal: nodeName === table.view.node.name,
      why,
      ...(why === 'no such port' && { detail: `its slice has ${portsText(ports)}` }),
    }
  })
}

function portsText(ports: readonly SlicePort[]): string {
  if (ports.length === 0) return 'no ports'
  return `port ${ports.map(({ name, port, protocol }) => `${name === '' ? '' : `${name} `}${port}/${protocol}`).join(', ')}`
}

function described({ ip, address, nodeName, isLocal }: Endpoint, zones: ZonesByIp): ExplainedEndpoint {
  const zone = zones.get(ip)
  return { address, nodeName, ...(zone !== undefined && { zone }), isLocal }
}
