/** What becomes of a connection to an address, or a node port, that no Service has. */
import type { ServiceRecord } from '../../api/records.ts'
import { objectKey } from '../../api/records.ts'
import { cidrContains, hostPort, ipToBigInt, parseCidr } from '../../net/ip.ts'
import { routeName } from '../route.ts'
import type { Entrance, Route } from '../route.ts'
import { classifySource } from './classify-source.ts'
import type { AskedProtocol, Explanation, Question, Verdict } from './explanation.ts'
import { entranceWords } from './entrance-words.ts'
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
  return {
    ...setting(scene),
    source: classifySource(question.from, { ip, isClusterIp: isClusterIp(ip, scene) }, scene),
    destination,
    otherEntrances: [],
    refused,
    near: ip === undefined ? nearNodePorts(port, scene) : nearAddresses(ip, scene),
    ...whatHappens(destination, refused.length > 0, scene),
    answerers: [],
    others: [],
    topology: 'none',
    notices: [],
  }
}

type Happens = Pick<Explanation, 'verdict' | 'clientSees' | 'remarks'>

function whatHappens({ ip, port, protocol }: Nowhere, isRefused: boolean, scene: Scene): Happens {
  const { traits, table } = scene
  const what = protocol === 'ICMP' ? 'an echo request' : `${port}/${protocol}`
  if (ip === undefined) return untouched('address of nobody')
  const entrances = entrancesAt(ip, scene)
  const rejects =
    traits.rejectsOtherPorts === 'at all addresses'
      ? entrances.some(({ entrance }) => !isNodesOwn(ip, entrance, scene))
      : traits.rejectsOtherPorts === 'at cluster IPs' &&
        entrances.some(({ entrance }) => entrance.kind === 'cluster-ip')
  if (rejects)
    return {
      verdict: { kind: 'reject', because: 'no such port' },
      clientSees: 'refused at once',
      remarks: [
        protocol === 'ICMP'
          ? `in ${traits.mode} mode a Service address does not answer a ping`
          : `the ${traits.mode} mode rejects what no Service has at an address of Services`,
      ],
    }
  if (isRefused) return untouched('not served', `no Service gets ${hostPort(ip, port)}/${protocol}`)
  const hidden = hiddenBy(ip, port, scene)
  if (hidden !== undefined) return untouched('not served', hidden)
  if (entrances.length > 0)
    return untouched('no such port', `no Service has ${what} at ${ip}, and the ${traits.mode} mode leaves it alone`)
  const pod = podAt(ip, scene.catalog)
  if (pod !== undefined)
    return untouched(
      'address of a pod',
      `${ip} is an endpoint of ${pod.services.join(', ')}, on ${nodeOf(pod)}: no Service is involved`,
    )
  if (isNodeAddress(ip, scene))
    return untouched('address of this node', `${ip} is an address of this node, and no node port is ${what}`)
  const range = table.view.serviceCidrs.find((text) => contains(text, ip))
  if (range !== undefined && traits.dropsFreeAddresses)
    return {
      verdict: { kind: 'drop', because: 'no Service in the range' },
      clientSees: 'timeout',
      remarks: [
        `${ip} is in the range of Services ${range}, and the ${traits.mode} mode drops what no Service has there`,
      ],
    }
  return untouched('address of nobody')
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

function entrancesAt(ip: string, { table }: Scene): readonly { readonly route: Route; readonly entrance: Entrance }[] {
  return [...table.view.routesByKey.values()].flatMap((route) =>
    route.entrances
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

const mostNear = 3

function nearAddresses(ip: string, scene: Scene): readonly string[] {
  const here = entrancesAt(ip, scene)
  if (here.length > 0)
    return here.map(
      ({ route, entrance }) =>
        `${hostPort(ip, entrance.port)}/${route.protocol} is the ${entranceWords[entrance.kind]} of ${routeName(route)}`,
    )
  const wanted = ipToBigInt(ip)
  const distance = (route: Route) => {
    const difference = ipToBigInt(route.clusterIP) - wanted
    return difference < 0n ? -difference : difference
  }
  return nearest([...scene.table.view.routesByKey.values()], (left, right) =>
    Number(distance(left) - distance(right)),
  ).map(
    (route) => `${hostPort(route.clusterIP, route.port)}/${route.protocol} is the cluster IP of ${routeName(route)}`,
  )
}

function nearNodePorts(port: number, { table }: Scene): readonly string[] {
  const open = [...table.view.routesByKey.values()].flatMap((route) =>
    route.entrances.filter(({ kind }) => kind === 'node-port').map((entrance) => ({ route, port: entrance.port })),
  )
  return nearest(open, (left, right) => Math.abs(left.port - port) - Math.abs(right.port - port)).map(
    (it) => `${it.port}/${it.route.protocol} is a node port of ${routeName(it.route)}`,
  )
}

function nearest<T>(all: readonly T[], compare: (left: T, right: T) => number): readonly T[] {
  return all.toSorted(compare).slice(0, mostNear)
}

function contains(text: string, ip: string): boolean {
  const cidr = parseCidr(text)
  return cidr !== undefined && cidrContains(cidr, ip)
}

function nodeOf({ nodeName }: { readonly nodeName: string }): string {
  return nodeName === '' ? 'an unknown node' : `node ${nodeName}`
}
