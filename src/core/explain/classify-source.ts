/** Where a client is, by the same rule by which the data plane tells clients apart. */
import { cidrContains, familyOf, isLoopback, parseCidr } from '../../net/ip.ts'
import { objectKey } from '../../api/records.ts'
import type { From, Source, SourcePlace } from './explanation.ts'
import { isNodeAddress, podAt } from './places.ts'
import type { Scene } from './world.ts'

/** `at` is the address that the client asks, if it asks one; `isClusterIp` says where a client is if nobody said. */
export function classifySource(
  from: From,
  asked: { readonly ip: string | undefined; readonly isClusterIp: boolean },
  scene: Scene,
): Source {
  switch (from.kind) {
    case 'unsaid':
      if (asked.ip !== undefined && isLoopback(asked.ip))
        return fromNode(asked.ip, `only programs of this node can ask ${asked.ip}`)
      return asked.isClusterIp ? somePod(scene) : someClient
    case 'outside':
      return someClient
    case 'pod':
      return somePod(scene)
    case 'host':
      return fromNode(sourceOfNode(asked.ip, scene), 'it is a program on this node')
    case 'ip':
      return fromAddress(from.ip, scene)
    default:
      return from satisfies never
  }
}

const someClient: Source = { place: 'outside', isInside: false, why: 'it is neither on this node nor one of its pods' }

function fromNode(ip: string, why: string): Source {
  return { place: 'this node', ip, isInside: true, why }
}

/** The kernel answers from the address that was asked, where that is one of its own. */
function sourceOfNode(asked: string | undefined, scene: Scene): string {
  const isOwn = asked !== undefined && isNodeAddress(asked, scene)
  return isOwn ? asked : scene.table.view.node.ip
}

function somePod(scene: Scene): Source {
  const isKnown = scene.traffic.localTraffic.kind !== 'none'
  return { place: 'pod on this node', isInside: isKnown, why: isKnown ? ruleOf(scene) : nothingIsKnown(scene) }
}

function fromAddress(ip: string, scene: Scene): Source {
  if (isLoopback(ip) || isNodeAddress(ip, scene)) return fromNode(ip, `${ip} is an address of this node`)
  const { localTraffic } = scene.traffic
  const known = knownPlace(ip, scene)
  switch (localTraffic.kind) {
    case 'cidr': {
      const cidr = parseCidr(localTraffic.cidr)
      const isInside = cidr !== undefined && cidrContains(cidr, ip)
      const place = known ?? (isInside ? 'pod on this node' : 'outside')
      return { place, ip, isInside, why: `it is ${isInside ? '' : 'not '}in ${nameOfCidr(localTraffic.cidr, scene)}` }
    }
    case 'interface':
    case 'interface-prefix': {
      const isInside = known === 'pod on this node'
      const why = isInside
        ? `it is taken to arrive ${ruleOf(scene)}`
        : `it is not known as a pod of this node, whose packets arrive ${ruleOf(scene)}`
      return { place: known ?? 'outside', ip, isInside, why }
    }
    case 'none':
      return { place: known ?? 'outside', ip, isInside: false, why: nothingIsKnown(scene) }
    default:
      return localTraffic satisfies never
  }
}

/** What the objects of the cluster say, which the data plane does not ask. */
function knownPlace(ip: string, scene: Scene): SourcePlace | undefined {
  const pod = podAt(ip, scene.catalog)
  const { name } = scene.table.view.node
  if (pod !== undefined) return pod.nodeName === name ? 'pod on this node' : 'pod elsewhere'
  for (const node of scene.catalog.nodes.values()) {
    const hasIt = node.podCIDRs.some((text) => {
      const cidr = parseCidr(text)
      return cidr !== undefined && cidr.family === familyOf(ip) && cidrContains(cidr, ip)
    })
    if (hasIt) return node.name === name ? 'pod on this node' : 'pod elsewhere'
  }
  return undefined
}

function ruleOf({ traffic: { localTraffic }, ...scene }: Scene): string {
  switch (localTraffic.kind) {
    case 'cidr':
      return `its address is in ${nameOfCidr(localTraffic.cidr, scene)}`
    case 'interface':
      return `through the interface ${localTraffic.name}`
    case 'interface-prefix':
      return `through an interface ${localTraffic.prefix}*`
    case 'none':
      return ''
    default:
      return localTraffic satisfies never
  }
}

function nameOfCidr(cidr: string, { detectLocalMode, traits, catalog, table }: Omit<Scene, 'traffic'>): string {
  const isOfNode =
    detectLocalMode === 'NodeCIDR' ||
    (traits.localPods === 'of this node' && catalog.nodes.get(objectKey(table.view.node))?.podCIDRs.includes(cidr))
  return isOfNode ? `the pod CIDR of this node, ${cidr}` : `the cluster CIDR, ${cidr}`
}

function nothingIsKnown({ detectLocalMode, family }: Scene): string {
  const cause =
    detectLocalMode === 'ClusterCIDR' || detectLocalMode === 'NodeCIDR'
      ? `no ${family === 'ipv4' ? 'IPv4' : 'IPv6'} CIDR is known for detectLocalMode ${detectLocalMode}`
      : 'no detectLocalMode is set'
  return `${cause}, so pods cannot be told from other clients`
}
