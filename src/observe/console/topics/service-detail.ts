/** The whole picture of one Service, in the words of `fairlead explain`. */
import { objectKey } from '../../../api/records.ts'
import type { ObjectKey, ServicePort, ServiceRecord } from '../../../api/records.ts'
import type { Explanation, From } from '../../../core/explain/explanation.ts'
import { explainFound } from '../../../core/explain/of-entrance.ts'
import { waysInto, whyNotProxied } from '../../../core/explain/of-service.ts'
import { verdictText } from '../../../core/explain/words.ts'
import type { Scene } from '../../../core/explain/world.ts'
import { routeKey } from '../../../core/route.ts'
import type { Entrance, Route } from '../../../core/route.ts'
import { skewOf } from '../../../core/skew.ts'
import { placeText } from '../../../core/routing/claim-texts.ts'
import type { CarriedView } from '../../traffic/traffic-book.ts'
import type { EntranceDetail, OutcomeDetail, PortDetail, Problem, ServiceDetail } from '../wire.ts'
import { endpointDetails } from './endpoint-details.ts'
import type { NodeParts } from './node-parts.ts'
import { portInShort, serviceRow } from './service-row.ts'
import { secondsSince, trafficInShort, trafficOfService } from './traffic-in-short.ts'

export type DetailParts = Pick<NodeParts, 'catalog' | 'families' | 'notices' | 'world'>

export function serviceDetail(key: ObjectKey, parts: DetailParts, carried: readonly CarriedView[]): ServiceDetail {
  const record = parts.catalog.services.get(key)
  if (record === undefined) return { key, isGone: true, ports: [], notices: [] }
  const { catalog, traits, families } = parts.world()
  const scenes = families
    .filter(({ family }) => record.clusterIPs[family] !== undefined)
    .map((family): Scene => ({ ...family, catalog, traits }))
  const traffic = trafficOfService(record, carried)
  return {
    key,
    row: { ...serviceRow(key, record, parts), ...(traffic && { traffic }) },
    ports: scenes.flatMap((scene) => record.ports.map((port) => portDetail(record, port, scene, parts, carried))),
    notices: [...whyNoPorts(record), ...noticesOf(key, parts)],
  }
}

function portDetail(
  record: ServiceRecord,
  port: ServicePort,
  scene: Scene,
  { families }: DetailParts,
  carried: readonly CarriedView[],
): PortDetail {
  const { family } = scene
  const key = routeKey(record.namespace, record.name, port.name, port.protocol)
  const about = { route: key, family, port: portInShort(port) }
  const route = scene.table.view.routesByKey.get(key)
  // It is not programmed yet, or its address is another's: the notices say so.
  if (route === undefined) return { ...about, entrances: [], endpoints: [] }
  const notProgrammed = families.find((it) => it.family === family)?.notProgrammed(key)
  const numbers = carried.find(({ view }) => view.family === family)
  const entrances = waysInto(route, scene)
  const fromPod = entrances.map((entrance) => explained(route, entrance, { kind: 'pod' }, scene))
  const [atClusterIp] = fromPod
  return {
    ...about,
    entrances: entrances.map((entrance, index) => entranceDetail(route, entrance, fromPod[index], scene)),
    endpoints: atClusterIp === undefined ? [] : endpointDetails({ record, route, atClusterIp, scene, numbers }),
    ...(route.affinitySeconds !== undefined && { affinitySeconds: route.affinitySeconds }),
    ...carriedBy(route, numbers),
    ...(notProgrammed !== undefined && { notProgrammed }),
  }
}

function entranceDetail(
  route: Route,
  entrance: Entrance,
  fromPod: Explanation | undefined,
  scene: Scene,
): EntranceDetail {
  const { allowed } = entrance
  const outside = outcomeDetail(explained(route, entrance, { kind: 'outside' }, scene), entrance)
  return {
    kind: entrance.kind,
    address: entrance.kind === 'node-port' ? String(entrance.port) : placeText(entrance),
    local: fromPod === undefined ? outside : outcomeDetail(fromPod, entrance),
    outside,
    ...(allowed !== undefined && { allowed: allowed.ranges }),
  }
}

function explained(route: Route, entrance: Entrance, from: From, scene: Scene): Explanation {
  const { namespace, name, portName } = route
  const target = { kind: 'service', namespace, name, port: portName } as const
  const ip = entrance.kind === 'node-port' ? undefined : entrance.ip
  return explainFound({ route, entrance, ip, isOpen: true }, { target, from }, scene)
}

function outcomeDetail(explanation: Explanation, { outside }: Entrance): OutcomeDetail {
  const { verdict, policy, answerers } = explanation
  return {
    does: verdict.kind,
    text: verdictText(explanation),
    policy: policy?.policy ?? outside.policy,
    ...(verdict.kind === 'forward' && { to: answerers.map(({ address }) => address) }),
  }
}

function carriedBy(route: Route, numbers: CarriedView | undefined): Pick<PortDetail, 'traffic' | 'skew'> {
  const traffic = numbers?.traffic.get(route.key)
  if (numbers === undefined || traffic === undefined) return {}
  const skew = skewOf(route, traffic)
  return {
    traffic: trafficInShort(traffic, numbers.before?.traffic.get(route.key), secondsSince(numbers)),
    ...(skew && { skew: Math.round(skew.ratio * 100) / 100 }),
  }
}

function whyNoPorts(record: ServiceRecord): readonly Problem[] {
  const text = whyNotProxied(record)
  return text === undefined ? [] : [{ severity: 'note', text, service: objectKey(record) }]
}

function noticesOf(key: ObjectKey, { notices }: DetailParts): readonly Problem[] {
  const texts = new Set(notices.about(key).map(({ text }) => text))
  return [...texts].map((text) => ({ severity: 'warning', text, service: key }))
}
