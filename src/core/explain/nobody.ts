/** What becomes of a connection to an address, or a node port, that no Service has. */
import type { LeftToLoadBalancer, ServiceRecord } from '../../api/records.ts'
import { objectKey } from '../../api/records.ts'
import { cidrContains, hostPort, ipToBigInt, parseCidr } from '../../net/ip.ts'
import { routeName } from '../route.ts'
import type { Entrance, RangeEntrance, Route } from '../route.ts'
import { classifySource } from './classify-source.ts'
import type { AskedProtocol, Explanation, Question, Source, Verdict } from './explanation.ts'
import { entranceWords } from './entrance-words.ts'
import { everyEntrance } from './find-entrance.ts'
import { isNodeAddress, podAt } from './places.ts'
import { setting } from './world.ts'
import type { Scene } from './world.ts'

export interface Nowhere {
  /** Absent for a node port. */
  readonly ip?: string
  readonly port: number
  readonly protocol: AskedProtocol
}

export function explainNobody(destination: Nowhere, question: Question, scene: Scene): Explanation {
  const { ip, port, protocol } = destination
  const refused = protocol === 'ICMP' ? [] : scene.table.refusedAt({ ...(ip !== undefined && { ip }), protocol, port })
  const source = classifySource(question.from, { ip, isClusterIp: isClusterIp(ip, scene) }, scene)
  return {
    ...setting(scene),
    source,
    destination,
    otherEntrances: [],
    refused,
    near: ip === undefined ? nearNodePorts(port, scene) : nearAddresses(ip, scene),
    ...whatHappens(destination, refused.length > 0, source, scene),
    answerers: [],
    others: [],
    topology: 'none',
    notices: [],
  }
}

type Happens = Pick<Explanation, 'verdict' | 'clientSees' | 'remarks'>

function whatHappens(destination: Nowhere, isRefused: boolean, source: Source, scene: Scene): Happens {
  const { ip, port, protocol } = destination
  const { traits } = scene
  const what = protocol === 'ICMP' ? 'an echo request' : `${port}/${protocol}`
  if (ip === undefined) return untouched('address of nobody')
  const entrances = entrancesAt(ip, scene)
  const turnedAway =
    rejected(ip, protocol, entrances, source, scene) ??
    (traits.dropsFreeAddresses ? dropped(ip, source, scene) : undefined)
  if (turnedAway !== undefined) return turnedAway
  if (isRefused) return untouched('not served', `no Service gets ${hostPort(ip, port)}/${protocol}`)
  const hidden = hiddenBy(ip, port, scene) ?? leftToBalancer(ip, port, scene)
  if (hidden !== undefined) return untouched('not served', hidden)
  if (entrances.length > 0)
    return untouched('no such port', `no Service has ${what} at ${ip}, and the ${traits.mode} mode leaves it alone`)
  const pod = podAt(ip, scene.catalog)
  if (pod !== undefined)
    return untouched(
      'address of a pod',
      `${ip} is an endpoint of ${pod.services.join(', ')}, on ${nodeOf(pod)}: no Service is involved`,
    )
  return isNodeAddress(ip, scene)
    ? untouched('address of this node', `${ip} is an address of this node, and no node port is ${what}`)
    : untouched('address of nobody')
}

/** Some modes reject what a Service does not have at its address. */
function rejected(
  ip: string,
  protocol: AskedProtocol,
  entrances: ReturnType<typeof entrancesAt>,
  source: Source,
  scene: Scene,
): Happens | undefined {
  const { rejectsOtherPorts, mode } = scene.traits
  const isIt =
    rejectsOtherPorts === 'at all addresses'
      ? entrances.some(({ entrance }) => !isNodesOwn(ip, entrance, scene))
      : rejectsOtherPorts === 'at cluster IPs' &&
        passesOn(ip, source, scene) &&
        entrances.some(({ entrance }) => entrance.kind === 'cluster-ip')
  if (!isIt) return undefined
  const remark =
    protocol === 'ICMP'
      ? `in ${mode} mode a Service address does not answer a ping`
      : `the ${mode} mode rejects what no Service has at an address of Services`
  return { verdict: { kind: 'reject', because: 'no such port' }, clientSees: 'refused at once', remarks: [remark] }
}

/** What the node passes on or sends itself; the rules do not ask what arrives at an address of its own. */
function passesOn(ip: string, { place }: Source, scene: Scene): boolean {
  return place === 'this node' || !isNodeAddress(ip, scene)
}

function dropped(ip: string, source: Source, scene: Scene): Happens | undefined {
  const range = scene.table.view.serviceCidrs.find((text) => contains(text, ip))
  if (range === undefined || !passesOn(ip, source, scene)) return undefined
  const { mode } = scene.traits
  return {
    verdict: { kind: 'drop', because: 'no Service in the range' },
    clientSees: 'timeout',
    remarks: [`${ip} is in the range of Services ${range}, and the ${mode} mode drops what no Service has there`],
  }
}

function untouched(
  because: Extract<Verdict, { kind: 'untouched' }>['because'],
  ...remarks: readonly string[]
): Happens {
  return { verdict: { kind: 'untouched', because }, clientSees: 'whatever is there', remarks }
}

/** Its address is the node's already, so what else listens there is out of the mode's hands. */
function isNodesOwn(ip: string, { kind }: Entrance, scene: Scene): boolean {
  return kind !== 'cluster-ip' && isNodeAddress(ip, scene)
}

function entrancesAt(
  ip: string,
  { table }: Scene,
): readonly { readonly route: Route; readonly entrance: Entrance | RangeEntrance }[] {
  return [...table.view.routesByKey.values()].flatMap((route) =>
    everyEntrance(route)
      .filter((entrance) => entrance.kind !== 'node-port' && entrance.ip === ip)
      .map((entrance) => ({ route, entrance })),
  )
}

function isClusterIp(ip: string | undefined, scene: Scene): boolean {
  if (ip === undefined) return false
  const isInRange = scene.table.view.serviceCidrs.some((text) => contains(text, ip))
  return isInRange || entrancesAt(ip, scene).some(({ entrance }) => entrance.kind === 'cluster-ip')
}

/** A Service names the address, and a setting keeps it from being served. */
function hiddenBy(ip: string, port: number, { catalog, table }: Scene): string | undefined {
  if (table.policy.allowExternalIPs) return undefined
  const names = ({ externalIPs, ports }: ServiceRecord) =>
    externalIPs.includes(ip) && ports.some((it) => it.port === port)
  for (const record of catalog.services.values())
    if (names(record))
      return `it is an external IP of ${objectKey(record)}, and the feature gate AllowServiceExternalIPs is off`
  return undefined
}

/** Nodes do not touch it, so that the load balancer sees the traffic. */
function leftToBalancer(ip: string, port: number, { catalog }: Scene): string | undefined {
  for (const record of catalog.services.values()) {
    const { leftToLoadBalancer: left, ports } = record
    if (left === undefined || !left.ips.includes(ip) || !ports.some((it) => it.port === port)) continue
    return `it is a load-balancer IP of ${objectKey(record)}, and what is sent there goes to the load balancer: ${whyLeft[left.because]}`
  }
  return undefined
}

const whyLeft: Readonly<Record<LeftToLoadBalancer['because'], string>> = {
  ipMode: 'the status of the Service says ipMode Proxy',
  hairpin: 'the Service wants it so (fairlead.dev/load-balancer-hairpin: through)',
}

const mostNear = 3

function nearAddresses(ip: string, scene: Scene): readonly string[] {
  const here = entrancesAt(ip, scene)
  if (here.length > 0)
    return here.map(
      ({ route, entrance }) =>
        `${hostPort(ip, entrance.port)}${'lastPort' in entrance ? `-${entrance.lastPort}` : ''}/${route.protocol} is the ${entranceWords[entrance.kind]} of ${routeName(route)}`,
    )
  const wanted = ipToBigInt(ip)
  const distance = ({ clusterIP }: Route) => {
    const difference = ipToBigInt(clusterIP) - wanted
    return difference < 0n ? -difference : difference
  }
  return nearest(scene.table.view.routesByKey.values(), distance).map(
    (route) => `${hostPort(route.clusterIP, route.port)}/${route.protocol} is the cluster IP of ${routeName(route)}`,
  )
}

function nearNodePorts(port: number, { table }: Scene): readonly string[] {
  const open = [...table.view.routesByKey.values()].flatMap((route) =>
    route.entrances.filter(({ kind }) => kind === 'node-port').map((entrance) => ({ route, port: entrance.port })),
  )
  return nearest(open, (it) => BigInt(Math.abs(it.port - port))).map(
    (it) => `${it.port}/${it.route.protocol} is a node port of ${routeName(it.route)}`,
  )
}

/** Looks at each once: there may be tens of thousands, and the proxy has other things to do. */
function nearest<T>(all: Iterable<T>, distanceOf: (it: T) => bigint): readonly T[] {
  let best: readonly { readonly it: T; readonly distance: bigint }[] = []
  for (const it of all) {
    const distance = distanceOf(it)
    const farthest = best[mostNear - 1]
    if (farthest !== undefined && farthest.distance <= distance) continue
    const place = best.findIndex((other) => other.distance > distance)
    best = best.toSpliced(place < 0 ? best.length : place, 0, { it, distance }).slice(0, mostNear)
  }
  return best.map(({ it }) => it)
}

function contains(text: string, ip: string): boolean {
  const cidr = parseCidr(text)
  return cidr !== undefined && cidrContains(cidr, ip)
}

function nodeOf({ nodeName }: { readonly nodeName: string }): string {
  return nodeName === '' ? 'an unknown node' : `node ${nodeName}`
}
