/** A question about a Service: each of its ports, at each of its addresses. */
import { objectKey } from '../../api/records.ts'
import type { ServicePort, ServiceRecord } from '../../api/records.ts'
import { familyOf } from '../../net/ip.ts'
import type { Catalog } from '../catalog.ts'
import { nearServices } from '../near-services.ts'
import type { Entrance, Route } from '../route.ts'
import type { Answer, Explanation, Question, Target } from './explanation.ts'
import { everyEntrance } from './find-entrance.ts'
import { explainNobody } from './nobody.ts'
import { explainFound } from './of-entrance.ts'
import type { FamilyWorld, Scene, World } from './world.ts'

type ServiceTarget = Extract<Target, { kind: 'service' }>

export function explainService(question: Question, target: ServiceTarget, world: World): Answer {
  const { catalog } = world
  const record = catalog.services.get(objectKey(target))
  if (record === undefined) return notFound(unknownService(target, catalog))
  const obstacle = whyNotProxied(record)
  if (obstacle !== undefined) return notFound(obstacle)
  const ports = portsNamed(record, target.port)
  if (ports.length === 0) return notFound(unknownPort(record, target.port))
  const { from } = question
  const families = world.families.filter(({ family }) => from.kind !== 'ip' || familyOf(from.ip) === family)
  const explanations = families.flatMap((family) =>
    ports.flatMap((port) => ofPort(record, port, question, world, family)),
  )
  if (explanations.length > 0) return { ok: true, question, explanations }
  const named = Object.keys(record.clusterIPs).map((family) => (family === 'ipv4' ? 'IPv4' : 'IPv6'))
  return notFound(`Service ${objectKey(record)} has ${named.join(' and ')} addresses only`)
}

function ofPort(
  record: ServiceRecord,
  port: ServicePort,
  question: Question,
  world: World,
  family: FamilyWorld,
): readonly Explanation[] {
  const scene = { ...world, ...family }
  const clusterIP = record.clusterIPs[family.family]
  if (clusterIP === undefined) return []
  for (const route of family.table.view.routesByKey.values()) {
    const isIt =
      route.namespace === record.namespace &&
      route.name === record.name &&
      route.portName === port.name &&
      route.protocol === port.protocol
    if (isIt)
      return waysInto(route, scene).map((entrance) =>
        explainFound(
          { route, entrance, ip: entrance.kind === 'node-port' ? undefined : entrance.ip, isOpen: true },
          question,
          scene,
        ),
      )
  }
  // It has no route: its cluster IP is another's, or may not be served.
  const nowhere = explainNobody({ ip: clusterIP, port: port.port, protocol: port.protocol }, question, scene)
  return [{ ...nowhere, notices: family.table.noticesOf(objectKey(record)) }]
}

/** A mode that serves on loopback has one place for all. */
export function waysInto(route: Route, { traits }: Pick<Scene, 'traits'>): readonly Entrance[] {
  return traits.servesAt === 'loopback' ? route.entrances.slice(0, 1) : everyEntrance(route)
}

function portsNamed({ ports }: ServiceRecord, wanted: string | undefined): readonly ServicePort[] {
  return wanted === undefined ? ports : ports.filter(({ name, port }) => name === wanted || String(port) === wanted)
}

/** A sentence; undefined: it is. */
export function whyNotProxied(record: ServiceRecord): string | undefined {
  if (Object.keys(record.clusterIPs).length > 0) return undefined
  const key = objectKey(record)
  return record.type === 'ExternalName'
    ? `Service ${key} is of type ExternalName: DNS gives its clients another name, and no proxy is involved`
    : `Service ${key} has no cluster IP: DNS gives its clients the addresses of the pods, and no proxy is involved`
}

function unknownPort(record: ServiceRecord, wanted = ''): string {
  const { ports } = record
  const known = ports.map(({ name, port, protocol }) =>
    name === '' ? `${port}/${protocol}` : `${name} (${port}/${protocol})`,
  )
  if (ports.length === 0) return `Service ${objectKey(record)} has no ports`
  return `Service ${objectKey(record)} has no port "${wanted}": it has ${known.join(', ')}`
}

function unknownService({ namespace, name }: ServiceTarget, catalog: Catalog): string {
  const missing = `there is no Service "${name}" in namespace "${namespace}"`
  const { namespaces, nearestName, isEmpty } = nearServices(namespace, name, catalog)
  if (namespaces.length > 0) return `${missing}, but in ${namespaces.slice(0, 5).join(', ')}: choose it with -n`
  if (nearestName !== undefined) return `${missing}, did you mean ${nearestName}?`
  return isEmpty ? `${missing}, which has no Services at all` : missing
}

function notFound(message: string): Answer {
  return { ok: false, kind: 'not found', message }
}
