/** A node with Services, for tests of explanations. */
import type { ObjectRecord } from '../../../api/records.ts'
import { families } from '../../../net/ip.ts'
import { Catalog } from '../../catalog.ts'
import type { LocalTraffic } from '../../node/local-traffic.ts'
import { silentMetrics } from '../../proxy-metrics.ts'
import { RouteTable } from '../../routing/route-table.ts'
import { silentNotices } from '../../routing/service-notices.ts'
import { usualPolicy } from '../../routing/serving-policy.ts'
import type { ServingPolicy } from '../../routing/serving-policy.ts'
import { explain } from '../explain.ts'
import type { Explanation } from '../explanation.ts'
import type { ModeTraits } from '../mode-traits.ts'
import { parseQuestion } from '../parse-question.ts'
import type { AskedTexts } from '../parse-question.ts'
import type { World } from '../world.ts'

/** A mode in which everything is as the Routes say. */
const plainTraits: ModeTraits = {
  mode: 'plain',
  choice: 'at random',
  isEven: true,
  endpoints: 'by source',
  unserved: 'by a rule',
  sourceRanges: 'first',
  asksRangesOfNode: true,
  rejectsOtherPorts: 'nowhere',
  dropsFreeAddresses: false,
  fromNodeToElsewhere: 'as from others',
  nodePorts: 'as configured',
  nodePortsOnLoopback: [],
  source: 'masquerading',
  relaysAsClientIn: [],
  localPods: 'as configured',
  hairpins: 'on this node',
  unsupported: [],
  servesAt: 'their addresses',
  keepsAffinityTimeout: true,
}

export interface Given {
  readonly traits?: Partial<ModeTraits>
  readonly policy?: Partial<ServingPolicy>
  readonly localTraffic?: LocalTraffic
  readonly detectLocalMode?: string
  readonly masqueradeAll?: boolean
  readonly nodePortAddresses?: readonly string[]
}

const nodeIPs = { ipv4: '192.0.2.11', ipv6: '2001:db8::11' } as const

/** Pods have addresses in 10.64.0.0/16; the node is `here`. */
export function given(objects: readonly ObjectRecord[], options: Given = {}): World {
  const catalog = new Catalog()
  for (const kind of ['Service', 'EndpointSlice', 'Node', 'ServiceCIDR'] as const)
    catalog.replace(
      kind,
      objects.filter((it) => it.kind === kind),
    )
  return {
    catalog,
    traits: { ...plainTraits, ...options.traits },
    families: families.map((family) => {
      const table = new RouteTable({
        catalog,
        family,
        nodeName: 'here',
        nodeIP: nodeIPs[family],
        policy: { ...usualPolicy, ...options.policy },
        notices: silentNotices,
        metrics: silentMetrics,
        startedAtMs: 0,
      })
      table.take({ full: true })
      return {
        family,
        table,
        detectLocalMode: options.detectLocalMode ?? 'ClusterCIDR',
        traffic: {
          family,
          localTraffic: options.localTraffic ?? { kind: 'cidr', cidr: '10.64.0.0/16' },
          masqueradeAll: options.masqueradeAll ?? false,
          nodePortAddresses: options.nodePortAddresses ?? [],
          localIps: () => ['127.0.0.1', '::1', nodeIPs.ipv4, '192.0.2.12', nodeIPs.ipv6],
        },
      }
    }),
  }
}

export function answerTo(world: World, target: string, rest: Partial<AskedTexts> = {}) {
  const parsed = parseQuestion({ target, from: '', namespace: 'shop', port: '', ...rest })
  if (!parsed.ok) throw new Error(parsed.problem)
  return explain(parsed.question, world)
}

/** The first explanation. */
export function explained(world: World, target: string, rest: Partial<AskedTexts> = {}): Explanation {
  const answer = answerTo(world, target, rest)
  if (!answer.ok) throw new Error(answer.message)
  const [first] = answer.explanations
  if (first === undefined) throw new Error('nothing was explained')
  return first
}
