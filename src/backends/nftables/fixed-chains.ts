/**
 * The chains that are no Service's own. They hook into the kernel and look packets up in the maps. Of the Services they depend only
 * in that they ask no questions about what no Service has (TableShape).
 */
import { isSameData } from '../../core/same-data.ts'
import type { ChainHook } from '../../dataplane/nft/nft.ts'
import { commentedRule, rule } from '../../dataplane/nft/rule.ts'
import type { Rule, Statement } from '../../dataplane/nft/rule.ts'
import { addressMaps, nodePortMaps, rangeMaps } from './entrance-maps.ts'
import { fromElsewhere } from './local-traffic-match.ts'
import type { PlannedChain } from './planned-chain.ts'
import { prefixText } from './prefix-text.ts'
import type { NftablesSettings } from './settings.ts'
import type { TableShape } from './table-shape.ts'

export const rejectChain = 'reject-connection'

/** Chains come after those that they jump to. Ranges of ports have rules of their own, as long as there are any. */
export function fixedChains(settings: NftablesSettings, shape: TableShape): readonly PlannedChain[] {
  const { hasRanges, hasTrackedExceptions } = shape
  return [
    ...checks(settings, hasRanges),
    ...translation(settings, hasRanges),
    ...hooks,
    ...untracked(settings, hasTrackedExceptions),
  ]
}

/** Those of the second shape that have other rules in the first one. */
export function chainsThatChange(
  settings: NftablesSettings,
  before: TableShape,
  after: TableShape,
): readonly PlannedChain[] {
  const rulesBefore = new Map(fixedChains(settings, before).map(({ name, rules }) => [name, rules]))
  return fixedChains(settings, after).filter(({ name, rules }) => !isSameData(rulesBefore.get(name), rules))
}

/** Before connections are looked up. */
const raw = -300
/** Before the address of the endpoint replaces that of the Service. */
const beforeNat = -110
const nat = -100
const filter = 0
const afterNat = 100

const isNew: Statement = { kind: 'new connection' }

const hooks: readonly PlannedChain[] = [
  hook('prerouting-firewall', 'filter', 'prerouting', beforeNat, 'drops sources that may not use an address', [
    rule(isNew, jump('source-ranges-check')),
  ]),
  hook('output-firewall', 'filter', 'output', beforeNat, 'the same for programs on this node', [
    rule(isNew, jump('source-ranges-check')),
  ]),
  hook('input-filter', 'filter', 'input', filter, 'node ports and addresses of this node without endpoints', [
    rule(isNew, jump('nodeport-endpoints-check')),
    rule(isNew, jump('endpoints-check')),
  ]),
  hook(
    'forward-filter',
    'filter',
    'forward',
    filter,
    'addresses without endpoints, and cluster IPs without a Service',
    [rule(isNew, jump('endpoints-check')), rule(isNew, jump('cluster-ips-check'))],
  ),
  hook('output-filter', 'filter', 'output', filter, 'the same for programs on this node', [
    rule(isNew, jump('endpoints-check')),
    rule(isNew, jump('cluster-ips-check')),
  ]),
  hook('prerouting-nat', 'nat', 'prerouting', nat, 'from a Service address to an endpoint', [
    rule(jump('service-dispatch')),
  ]),
  hook('output-nat', 'nat', 'output', nat, 'the same for programs on this node', [rule(jump('service-dispatch'))]),
  hook(
    'postrouting-nat',
    'nat',
    'postrouting',
    afterNat,
    'masquerades where answers would otherwise bypass this node',
    [rule(jump('masquerading'))],
  ),
]

function untracked({ untrackedRanges = [] }: NftablesSettings, hasTrackedExceptions: boolean): readonly PlannedChain[] {
  if (untrackedRanges.length === 0) return []
  const isNotIn = (set: string): Statement => ({ kind: 'in set', fields: ['destination'], set, isNot: true })
  const toOthers: readonly Statement[] = [
    // What is sent to a Service is translated, or turned away, and both need its connection.
    ...(hasTrackedExceptions ? [isNotIn('tracked-ips'), isNotIn('service-cidrs')] : []),
    // What is masqueraded may have an address that the node has in the range: the answer must find its connection.
    { kind: 'is local', end: 'destination', isNot: true },
  ]
  return [
    hook(
      'prerouting-raw',
      'filter',
      'prerouting',
      raw,
      'connections between pods are not tracked',
      untrackedRanges.map((cidr) => rule(...between(cidr), ...toOthers, { kind: 'do not track' })),
    ),
  ]
}

function between(range: string): readonly Statement[] {
  const cidr = prefixText(range)
  return [
    { kind: 'source', cidr },
    { kind: 'destination', cidr },
  ]
}

function checks(settings: NftablesSettings, hasRanges: boolean): readonly PlannedChain[] {
  const ifRanges = (...rules: readonly Rule[]) => (hasRanges ? rules : [])
  return [
    chain(rejectChain, 'rejects: no endpoint serves the address', [rule({ kind: 'reject' })]),
    chain('source-ranges-check', 'loadBalancerSourceRanges', [
      rule(
        { kind: 'in set', fields: addressMaps.fields, set: 'restricted' },
        { kind: 'in set', fields: [...addressMaps.fields, 'source'], set: 'source-ranges', isNot: true },
        { kind: 'drop' },
      ),
      ...ifRanges(
        rule(
          { kind: 'in set', fields: rangeMaps.fields, set: 'restricted-ranges' },
          { kind: 'in set', fields: [...rangeMaps.fields, 'source'], set: 'source-ranges', isNot: true },
          { kind: 'drop' },
        ),
      ),
    ]),
    chain('endpoints-check', 'rejects or drops traffic without an endpoint', [
      rule({ kind: 'look up verdict', fields: addressMaps.fields, map: addressMaps.noEndpoints }),
      ...ifRanges(rule({ kind: 'look up verdict', fields: rangeMaps.fields, map: rangeMaps.noEndpoints })),
    ]),
    chain('nodeport-endpoints-check', 'the same for node ports', [
      rule(settings.limitsNodePorts ? toNodeIp : notLoopback, {
        kind: 'look up verdict',
        fields: nodePortMaps.fields,
        map: nodePortMaps.noEndpoints,
      }),
    ]),
    chain('cluster-ips-check', 'traffic to a cluster IP that was not translated', [
      commentedRule(
        'a port that the Service does not have',
        { kind: 'in set', fields: ['destination'], set: 'cluster-ips' },
        { kind: 'reject' },
      ),
      commentedRule(
        'no Service has this address',
        { kind: 'in set', fields: ['destination'], set: 'service-cidrs' },
        { kind: 'drop' },
      ),
    ]),
  ]
}

function translation(settings: NftablesSettings, hasRanges: boolean): readonly PlannedChain[] {
  const ifRanges = (...rules: readonly Rule[]) => (hasRanges ? rules : [])
  const isHere: readonly Statement[] = settings.limitsNodePorts
    ? [toNodeIp]
    : [{ kind: 'is local', end: 'destination' }, notLoopback]
  return [
    chain('service-dispatch', 'looks up the Service of a packet', [
      ...masqueradeForClusterIps(settings),
      rule({ kind: 'look up verdict', fields: addressMaps.fields, map: addressMaps.services }),
      rule(...isHere, { kind: 'look up verdict', fields: nodePortMaps.fields, map: nodePortMaps.services }),
      ...ifRanges(rule({ kind: 'look up verdict', fields: rangeMaps.fields, map: rangeMaps.services })),
    ]),
    chain('masquerading', 'masquerades marked packets, and endpoints that reach themselves', [
      rule(
        { kind: 'marked', mark: settings.masqueradeMark },
        // A tunnel may carry the same packet through here again.
        { kind: 'clear mark', mark: settings.masqueradeMark },
        { kind: 'masquerade' },
      ),
      rule(
        { kind: 'translated' },
        { kind: 'in set', fields: ['source', 'destination', 'protocol', 'port'], set: 'hairpin' },
        { kind: 'masquerade' },
      ),
      ...ifRanges(
        rule(
          { kind: 'translated' },
          { kind: 'in set', fields: ['source', 'destination', 'protocol'], set: 'range-hairpin' },
          { kind: 'masquerade' },
        ),
      ),
      ...(settings.untrackedRanges ?? []).map((cidr) =>
        rule({ kind: 'translated' }, ...between(cidr), { kind: 'masquerade' }),
      ),
    ]),
  ]
}

const notLoopback: Statement = { kind: 'destination is not loopback' }
const toNodeIp: Statement = { kind: 'in set', fields: ['destination'], set: 'node-ips' }

/** Answers to clients outside must come back through this node. */
function masqueradeForClusterIps({ masqueradeAll, masqueradeMark, localTraffic }: NftablesSettings): readonly Rule[] {
  const toClusterIp: Statement = { kind: 'in set', fields: ['destination'], set: 'cluster-ips' }
  const setMark: Statement = { kind: 'set mark', mark: masqueradeMark }
  if (masqueradeAll) return [commentedRule('masquerade all traffic to cluster IPs', toClusterIp, setMark)]
  const outside = fromElsewhere(localTraffic)
  if (outside === undefined) return []
  return [commentedRule('masquerade traffic to cluster IPs from outside', toClusterIp, outside, setMark)]
}

function hook(
  name: string,
  type: ChainHook['type'],
  at: ChainHook['hook'],
  priority: number,
  comment: string,
  rules: readonly Rule[],
): PlannedChain {
  return { name, hook: { type, hook: at, priority }, comment, rules }
}

function chain(name: string, comment: string, rules: readonly Rule[]): PlannedChain {
  return { name, comment, rules }
}

function jump(to: string): Statement {
  return { kind: 'jump', chain: to }
}
