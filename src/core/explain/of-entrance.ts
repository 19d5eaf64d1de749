/** What becomes of a client at an entrance of a Service port. */
import { objectKey } from '../../api/records.ts'
import type { Algorithm } from '../../api/records.ts'
import { hostPort } from '../../net/ip.ts'
import { countLocalReady } from '../health/service-health.ts'
import type { Route } from '../route.ts'
import { zonesOf } from '../routing/endpoints.ts'
import { atSocket, seenFromSocket, socketRemark } from './at-socket.ts'
import { classifySource } from './classify-source.ts'
import type { Explanation, FoundEntrance, FoundService, Question } from './explanation.ts'
import { everyEntrance } from './find-entrance.ts'
import type { Found } from './find-entrance.ts'
import { limitRemarks } from './limit-remarks.ts'
import type { Choosing } from './mode-traits.ts'
import { isNodeAddress } from './places.ts'
import { sourceSeen } from './source-seen.ts'
import type { Serving } from './treatment.ts'
import { appliedPolicy, decide, seenWhen, servingAt, sourceRangesAt } from './treatment.ts'
import { answerers, othersThan } from './who-answers.ts'
import { whyNoHints } from './why-no-hints.ts'
import { setting } from './world.ts'
import type { Scene } from './world.ts'

export function explainFound(found: Found, question: Question, asked: Scene): Explanation {
  const { route, entrance, ip, listeners } = found
  const scene = listeners === undefined ? asked : { ...asked, traits: listeners }
  const { traits, table } = scene
  const { namespace, name, protocol } = route
  const isClusterIp = entrance.kind === 'cluster-ip'
  const source = classifySource(question.from, { ip, isClusterIp }, scene)
  const refused = refusedAt(found, scene)
  const place: FoundEntrance = { ...entrancePlace(entrance), ...(ip !== undefined && { ip }) }
  const about = {
    ...setting(scene),
    source,
    destination: { ...(ip !== undefined && { ip }), ...portsAsked(found), protocol },
    service: foundService(route, scene),
    entrance: place,
    otherEntrances: everyEntrance(route)
      .filter((it) => it !== entrance)
      .map(entrancePlace),
    refused,
    near: [],
    notices: table.noticesOf(objectKey({ namespace, name })),
  }
  const closed = whyClosed(found, question, scene)
  if (closed !== undefined) return { ...about, ...closed, answerers: [], others: [], topology: route.topology }

  const socket = atSocket(found, source, scene)
  const isAtSocket = socket !== undefined && socket.leftBecause === undefined
  // A socket is on this node, whatever packets look like.
  const client = isAtSocket ? { ...source, isInside: true } : source
  const serving = servingAt(entrance, route, client, traits)
  const ranges = sourceRangesAt(entrance, route, serving, source, traits)
  const decided = decide(entrance, serving, source, ranges, scene)
  const isForwarded = decided.verdict.kind === 'forward'
  const seen = isAtSocket ? seenFromSocket(source, scene) : sourceSeen(entrance, route, source, scene)
  const { choice, shares } = choosing(route, scene)
  const zones = zonesOf(scene.catalog.slicesOf(objectKey({ namespace, name })).values())
  return {
    ...about,
    policy: appliedPolicy(entrance, serving, traits),
    ...(ranges !== undefined && { sourceRanges: ranges }),
    ...decided,
    remarks: [
      ...decided.remarks,
      ...onLoopback(entrance, scene),
      ...ownAffinity(route, scene),
      ...aboutRange(entrance),
      ...(isForwarded ? limitRemarks(route, source, traits) : []),
      ...(listeners === undefined ? [] : ['Fairlead itself listens there, and relays (localhostNodePorts)']),
      ...(isForwarded && socket !== undefined ? [socketRemark(socket)] : []),
    ],
    ...(isForwarded && { choice }),
    answerers: isForwarded ? answerers(serving, shares, seen, zones, found.portInRange) : [],
    others: othersThan(serving, route, scene, zones),
    topology: serving.policy === 'Cluster' ? route.topology : 'none',
    ...(serving.policy === 'Cluster' && whyNoHints(route, scene)),
    ...(route.affinitySeconds !== undefined &&
      traits.keepsAffinityTimeout && { affinitySeconds: route.affinitySeconds }),
    ...(isForwarded && { sourceSeenWhy: seen.why }),
    ...(isForwarded && { withoutEndpoints: withoutEndpoints(serving, scene) }),
    ...(route.healthCheckNodePort !== undefined && {
      healthCheck: { port: route.healthCheckNodePort, localEndpoints: countLocalReady([route]) },
    }),
  }
}

function foundService(route: Route, { catalog }: Scene): FoundService {
  const { key, namespace, name, portName, protocol, port } = route
  const type = catalog.services.get(objectKey({ namespace, name }))?.type ?? 'ClusterIP'
  return { key, namespace, name, portName, protocol, port, type }
}

function entrancePlace(entrance: Found['entrance']): FoundEntrance {
  const { kind, port } = entrance
  if (entrance.kind === 'node-port') return { kind, port }
  return { kind, ip: entrance.ip, port, ...('lastPort' in entrance && { lastPort: entrance.lastPort }) }
}

/** All ports of a range, unless one of them was asked for. */
function portsAsked({ entrance, portInRange }: Found): Pick<FoundEntrance, 'port' | 'lastPort'> {
  if (portInRange !== undefined) return { port: portInRange }
  return { port: entrance.port, ...('lastPort' in entrance && { lastPort: entrance.lastPort }) }
}

function aboutRange(entrance: Found['entrance']): readonly string[] {
  if (!('lastPort' in entrance)) return []
  return ['the Service has a range of ports there, and endpoints get the port as it is (fairlead.dev/port-range)']
}

function refusedAt({ entrance, ip, route: { protocol }, ...found }: Found, { table }: Scene) {
  const port = found.portInRange ?? entrance.port
  const atNodePort = entrance.kind === 'node-port' ? table.refusedAt({ protocol, port }) : []
  return [...atNodePort, ...(ip === undefined ? [] : table.refusedAt({ ip, protocol, port }))]
}

/** Where nothing of the mode takes the connection, whoever the client is. */
function whyClosed(
  { route, entrance, ip, isOpen }: Found,
  { target }: Question,
  scene: Scene,
): Pick<Explanation, 'verdict' | 'clientSees' | 'remarks'> | undefined {
  const { traits, traffic } = scene
  const untouched = (because: 'not open here' | 'protocol not supported' | 'not served', ...remarks: string[]) =>
    ({ verdict: { kind: 'untouched', because }, clientSees: 'whatever is there', remarks }) as const
  if (traits.unsupported.includes(route.protocol))
    return untouched('protocol not supported', `the ${traits.mode} mode does not support ${route.protocol}`)
  if (!isOpen) {
    const limits =
      traffic.nodePortAddresses.length === 0 ? '' : `; they are open on ${traffic.nodePortAddresses.join(', ')}`
    return untouched(
      'not open here',
      `node ports are not open on ${ip ?? 'this address'} in ${traits.mode} mode${limits}`,
    )
  }
  if (target.kind === 'address' && onLoopback(entrance, scene).length > 0)
    return untouched('not served', ...onLoopback(entrance, scene))
  return undefined
}

/** On a developer's machine a Service has a port on loopback instead of its addresses. */
function onLoopback(entrance: Found['entrance'], scene: Scene): readonly string[] {
  if (scene.traits.servesAt !== 'loopback' || entrance.kind === 'node-port' || isNodeAddress(entrance.ip, scene))
    return []
  const own = hostPort(entrance.ip, entrance.port)
  return [`Services are served on a loopback address of this machine only, not at ${own}`]
}

function ownAffinity({ affinitySeconds }: Route, { traits }: Scene): readonly string[] {
  if (affinitySeconds === undefined || traits.keepsAffinityTimeout) return []
  return [
    `the ${traits.mode} mode keeps a client with its endpoint for a time of its own, not for ${affinitySeconds} s`,
  ]
}

function choosing(route: Route, { traits }: Scene): Choosing {
  if (traits.choosing !== undefined) return traits.choosing(route)
  const { algorithm } = route.traffic ?? {}
  const choice = algorithm === undefined ? traits.choice : algorithmWords[algorithm]
  const isShared = algorithm === undefined ? traits.isEven : algorithm !== 'least-connections'
  return {
    choice: route.clusterEndpoints.some(({ weight }) => weight > 1) ? `${choice}, by weight` : choice,
    shares: isShared ? 'by weight' : 'not known',
  }
}

const algorithmWords: Readonly<Record<Algorithm, string>> = {
  random: 'at random',
  'round-robin': 'each in turn',
  'least-connections': 'the one with the fewest connections',
  'source-hash': 'by the address of the client',
  maglev: 'by the address and port of the client, as every node would',
}

function withoutEndpoints({ policy }: Serving, { traits }: Scene): NonNullable<Explanation['withoutEndpoints']> {
  const verdict = traits.unserved === 'not at all' ? 'untouched' : 'reject'
  const isHereOnly = policy === 'Local' && traits.endpoints !== 'one list'
  return {
    verdict,
    clientSees: seenWhen('reject', traits),
    ...(isHereOnly && { whileOthersHave: seenWhen('drop', traits) }),
  }
}
