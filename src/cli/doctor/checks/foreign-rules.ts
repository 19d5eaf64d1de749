import type { NodeView } from '../../../core/backend.ts'
import { splitHostPort } from '../../../config/host-port.ts'
import { hostPort, isLoopback } from '../../../net/ip.ts'
import { check } from '../check.ts'
import type { ClusterFacts } from '../evidence/cluster.ts'
import type { Hook, HookedChain } from '../rules/rule.ts'
import { walk } from '../rules/walk.ts'
import type { Hit, Packet } from '../rules/walk.ts'
import { forwardsInKernel, usesRules } from '../setup.ts'
import type { Setup } from '../setup.ts'

export const foreignRules = check({
  name: 'foreign-rules',
  title: 'rules of others that our packets meet',
  needs: ['foreignRules', 'cluster'],
  // Without Services there is nothing that a rule could be about.
  concerns: (setup) => usesRules(setup) && (!setup.isBeforeStart || setup.objects.length > 0),
  finds: {
    'rules-drop-service': {
      severity: 'error',
      meaning: 'A rule of another program drops or rejects every packet to a Service, or to its endpoints.',
      fix: 'Remove the rule, or let the address through before it.',
    },
    'rules-drop-some': {
      severity: 'warning',
      meaning: 'A rule of another program names the address of a Service and drops packets of some clients.',
      fix: 'If those clients should reach the Service, change the rule. For load balancers use loadBalancerSourceRanges.',
    },
    'rules-translate-service': {
      severity: 'error',
      meaning:
        'A rule of another program sends packets to a Service elsewhere, or keeps the kernel from tracking them.',
      fix: 'Remove the rule, or give the Service another address or node port. If it is in a chain KUBE-…, see leftovers.',
    },
    'rules-translate-some': {
      severity: 'warning',
      meaning: 'The same for some clients only.',
      fix: 'Remove the rule, or give the Service another address or node port.',
    },
    'forward-policy-drop': {
      severity: 'warning',
      meaning:
        'A chain on the way to endpoints drops whatever no rule accepts, and no rule accepts our packets for sure.',
      fix: 'Accept packets to and from pods there, e.g. iptables -A FORWARD -d POD-CIDR -j ACCEPT and -s POD-CIDR.',
    },
    'rules-drop-health-check': {
      severity: 'warning',
      meaning: 'A rule of another program drops the requests of load balancers to a health-check port of this node.',
      fix: 'Let the load balancers through to the port.',
    },
    'too-many-addresses': {
      severity: 'note',
      meaning: 'Rules of others were compared with some of the Services only: there are too many to try each.',
      fix: 'Use fairlead explain for a Service in doubt.',
    },
  },
  *run(setup, { foreignRules: chains, cluster }, find) {
    const packets = packetsOf(setup, cluster)
    if (packets.length > mostPackets)
      yield find('too-many-addresses', {
        what: 'Not every Service was compared with the rules of others.',
        evidence: `the first ${mostPackets} of ${packets.length} addresses`,
      })
    const seen = new Map<string, Collision>()
    for (const chain of chains)
      for (const packet of packets.slice(0, mostPackets)) {
        if (!meets(chain, packet, setup)) continue
        for (const hit of toTell(walk(chain, packet))) note(seen, chain, packet, hit)
      }
    for (const collision of seen.values()) {
      const kind = kindOf(collision)
      if (kind !== undefined) yield find(kind, told(collision))
    }
  },
})

const mostPackets = 20_000
/** Where the nftables mode and iptables translate. */
const translation = -100

interface Sent extends Packet {
  readonly hooks: readonly Hook[]
  readonly purpose: 'service' | 'endpoint' | 'health-check'
  /** `demo/web, 10.96.0.10:80/TCP`. */
  readonly name: string
}

interface Collision {
  readonly chain: HookedChain
  readonly hit: Hit
  readonly purpose: Sent['purpose']
  readonly names: string[]
  count: number
}

function packetsOf(setup: Setup, cluster: ClusterFacts): readonly Sent[] {
  const local = new Set(cluster.localAddresses)
  return [
    ...cluster.views.flatMap((view) => servicePackets(view, setup, cluster, local)),
    ...cluster.views.flatMap((view) => (forwardsByTranslation(setup) ? endpointPackets(view, local) : [])),
    ...healthCheckPackets(setup, cluster),
  ]
}

function servicePackets(
  { routesByKey, family }: NodeView,
  { config }: Setup,
  { nodeIps }: ClusterFacts,
  local: ReadonlySet<string>,
): readonly Sent[] {
  // IPVS takes packets from the input hook on, so what filters there sees the address of the Service.
  const hooks: readonly Hook[] = config.mode === 'ipvs' ? ['prerouting', 'input', 'output'] : ['prerouting', 'output']
  return [...routesByKey.values()].flatMap((route) =>
    route.entrances.flatMap((entrance): readonly Sent[] => {
      const ip = entrance.kind === 'node-port' ? nodeIps[family] : entrance.ip
      if (isLoopback(ip)) return []
      const { port } = entrance
      const protocol = route.protocol.toLowerCase()
      const name = `${route.namespace}/${route.name}, ${hostPort(ip, port)}/${route.protocol}`
      const isLocal = entrance.kind === 'node-port' || local.has(ip)
      return [{ ip, port, protocol, isLocal, isTranslated: false, hooks, purpose: 'service', name }]
    }),
  )
}

function endpointPackets({ routesByKey }: NodeView, local: ReadonlySet<string>): readonly Sent[] {
  const packets = new Map<string, Sent>()
  for (const { namespace, name, protocol, reachableEndpoints } of routesByKey.values())
    for (const { ip, port, address } of reachableEndpoints)
      if (!local.has(ip))
        packets.set(`${address}/${protocol}`, {
          ip,
          port,
          protocol: protocol.toLowerCase(),
          isLocal: false,
          isTranslated: true,
          hooks: ['forward'],
          purpose: 'endpoint',
          name: `endpoint ${address}/${protocol} of ${namespace}/${name}`,
        })
  return [...packets.values()]
}

function forwardsByTranslation(setup: Setup): boolean {
  return forwardsInKernel(setup) && setup.config.mode !== 'ipvs'
}

/** Load balancers ask this node, from outside. */
function healthCheckPackets({ config, families }: Setup, { views, nodeIps }: ClusterFacts): readonly Sent[] {
  const ports = new Map<number, string>()
  const { host, port } = splitHostPort(config.healthzBindAddress) ?? {}
  if (port !== undefined && host !== undefined && !isLoopback(host)) ports.set(Number(port), 'the health port')
  for (const { routesByKey } of views)
    for (const { healthCheckNodePort, namespace, name } of routesByKey.values())
      if (healthCheckNodePort !== undefined)
        ports.set(healthCheckNodePort, `the health-check port of ${namespace}/${name}`)
  return families.flatMap((family) => {
    const ip = nodeIps[family]
    if (isLoopback(ip)) return []
    return [...ports].map(([number, name]): Sent => ({
      ip,
      port: number,
      protocol: 'tcp',
      isLocal: true,
      isTranslated: false,
      hooks: ['prerouting', 'input'],
      purpose: 'health-check',
      name: `${name}, ${hostPort(ip, number)}/TCP`,
    }))
  })
}

/** Only chains that see the packet before a proxy has changed its destination can be about a Service. */
function meets({ hook, priority, type, families }: HookedChain, packet: Sent, { config }: Setup): boolean {
  const family = packet.ip.includes(':') ? 'ipv6' : 'ipv4'
  if (!packet.hooks.includes(hook) || !families.includes(family)) return false
  if (packet.purpose !== 'service' || config.mode === 'ipvs') return true
  return type === 'nat' ? priority <= translation : priority < translation
}

/** What does not hit everybody, and does not name the address, is an ordinary firewall. */
function note(seen: Map<string, Collision>, chain: HookedChain, packet: Sent, hit: Hit): void {
  const isOpenPolicy = hit.isPolicy && packet.purpose === 'endpoint'
  if (!hit.isCertain && !hit.isAboutDestination && !isOpenPolicy) return
  const { rule, ...how } = hit
  const key = JSON.stringify([chain.place, chain.chain, how, packet.purpose, isOfProxy(rule) ? 'a proxy' : rule])
  const known = seen.get(key) ?? { chain, hit, purpose: packet.purpose, names: [], count: 0 }
  known.count++
  if (known.names.length < mostNames) known.names.push(packet.name)
  seen.set(key, known)
}

const mostNames = 3

/** A proxy has a rule for each endpoint: all together are one obstacle, which is told by its first rule. */
function isOfProxy(rule: string): boolean {
  return rule.startsWith('-A KUBE-')
}

/** A proxy chooses by chance. Where one of its rules is left for certain, those before it say nothing new. */
function toTell(hits: readonly Hit[]): readonly Hit[] {
  const isSettled = hits.some(({ rule, isCertain }) => isCertain && isOfProxy(rule))
  return isSettled ? hits.filter(({ rule, isCertain }) => isCertain || !isOfProxy(rule)) : hits
}

function kindOf({ hit, purpose }: Collision) {
  const isTranslating = hit.kind === 'translate' || hit.kind === 'untrack'
  if (purpose === 'health-check') return isTranslating ? undefined : ('rules-drop-health-check' as const)
  if (purpose === 'endpoint' && isTranslating) return undefined
  if (hit.isPolicy && !hit.isCertain) return 'forward-policy-drop' as const
  if (isTranslating) return hit.isCertain ? ('rules-translate-service' as const) : ('rules-translate-some' as const)
  return hit.isCertain ? ('rules-drop-service' as const) : ('rules-drop-some' as const)
}

const verbs: Readonly<Record<Hit['kind'], string>> = {
  drop: 'dropped',
  reject: 'rejected',
  translate: 'sent elsewhere',
  untrack: 'not tracked, and so not translated',
}

function told({ chain, hit, names, count }: Collision): { readonly what: string; readonly evidence: string } {
  const more = count > names.length ? ` and ${count - names.length} more` : ''
  const who = hit.isCertain ? '' : ' of some clients'
  return {
    what: `Packets${who} to ${names.join('; ')}${more} are ${verbs[hit.kind]}.`,
    evidence: `${chain.place}, chain ${chain.chain} (${chain.type} hook ${chain.hook}, priority ${chain.priority}): ${hit.rule}`,
  }
}
