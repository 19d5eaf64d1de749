/**
 * The chains that pick an endpoint. There is one of a kind per number of endpoints, not per Service: all Services with
 * three endpoints share `pick-3`, and the maps know whose endpoints they are. Only who takes turns has a chain of its own,
 * because a rule counts whoever comes.
 */
import { commentedRule, rule } from '../../dataplane/nft/rule.ts'
import type { IndexBy, Rule, Statement } from '../../dataplane/nft/rule.ts'
import type { EntranceMaps } from './entrance-maps.ts'
import { fromPodsHere } from './local-traffic-match.ts'
import type { PlannedChain } from './planned-chain.ts'
import type { NftablesSettings } from './settings.ts'

export interface PickChain {
  readonly kind: PickKind
  readonly maps: EntranceMaps
  /** How many slots there are; for `external-local`, those for pods and programs here. */
  readonly choices: number
  readonly by: IndexBy
  /** Whose turns they are; empty where nobody counts any. */
  readonly turnsOf: string
}

type PickKind =
  /** One of the endpoints. */
  | 'pick'
  /** The same, with the source hidden. */
  | 'external'
  /** Endpoints on this node for traffic from outside; pods here and the node itself may use all. */
  | 'external-local'
  /** One of the endpoints on this node. */
  | 'pick-local'

/** `pick-3`, `external-3/source`, `nodeport-pick-3/turn/demo/web/tcp/http`. */
export function pickChainName({ kind, maps, choices, by, turnsOf }: PickChain): string {
  const name = `${maps.prefix}${kind}-${choices}`
  return by === 'chance' ? name : `${name}/${by === 'turn' ? turnsOf : by}`
}

export function pickChain(chain: PickChain, settings: NftablesSettings): PlannedChain {
  const { comment, rules } = contents(chain, settings)
  return { name: pickChainName(chain), comment, rules }
}

/** Only looks up endpoints. The others set marks and tell sources apart, and lead to these. */
export function isLookup({ kind }: PickChain): boolean {
  return kind === 'pick' || kind === 'pick-local'
}

/** Which chains another one leads to; they must exist first. */
export function withPrerequisites(chain: PickChain): readonly PickChain[] {
  const needsPick = (chain.kind === 'external' || chain.kind === 'external-local') && chain.choices > 0
  return needsPick ? [{ ...chain, kind: 'pick' }, chain] : [chain]
}

function contents(chain: PickChain, settings: NftablesSettings): Pick<PlannedChain, 'comment' | 'rules'> {
  const { kind, maps, choices, by } = chain
  const { fields, endpoints, localServices, localEndpoints } = maps
  const pick: Statement = { kind: 'goto', chain: pickChainName({ ...chain, kind: 'pick' }) }
  switch (kind) {
    case 'pick':
      return { comment: `one of ${count(choices)}${words[by]}`, rules: pickOne(chain, endpoints) }
    case 'pick-local':
      return { comment: `one of ${count(choices)} on this node${words[by]}`, rules: pickOne(chain, localEndpoints) }
    case 'external':
      return {
        comment: `masquerades, then picks one of ${count(choices)}`,
        rules: [rule({ kind: 'set mark', mark: settings.masqueradeMark }), rule(pick)],
      }
    case 'external-local':
      return {
        comment: `policy Local: endpoints on this node; for pods and programs here, one of ${count(choices)}`,
        rules: [
          ...(choices === 0 ? [] : shortCircuit(settings, pick)),
          rule({ kind: 'look up verdict', fields, map: localServices }),
        ],
      }
    default:
      return kind satisfies never
  }
}

/** Whoever is on this node may use endpoints of other nodes even where outside traffic may not. */
export function shortCircuit(settings: NftablesSettings, pick: Statement): readonly Rule[] {
  const pods = fromPodsHere(settings.localTraffic)
  const fromThisNode: Statement = { kind: 'is local', end: 'source' }
  return [
    ...(pods === undefined ? [] : [commentedRule('pods on this node', pods, pick)]),
    commentedRule('this node', fromThisNode, { kind: 'set mark', mark: settings.masqueradeMark }, pick),
  ]
}

/**
 * A packet may look up the number of endpoints just before a transaction, and the endpoint just after. If the Service
 * shrank in it, the highest numbers are gone, but number 0 is there.
 */
function pickOne({ maps: { fields, keepsPort }, choices, by }: PickChain, map: string): readonly Rule[] {
  const any = { kind: 'dnat by map', fields, choices, by, map, ...(keepsPort && { keepsPort }) } as const
  if (choices === 1) return [rule(any)]
  return [rule(any), commentedRule('if the Service has just lost this endpoint', { ...any, choices: 1, by: 'chance' })]
}

const words: Readonly<Record<IndexBy, string>> = {
  chance: '',
  turn: ', each in turn',
  source: ', by the address of the client',
  flow: ', by address and port of the client',
}

function count(endpoints: number): string {
  return endpoints === 1 ? '1 endpoint' : `${endpoints} endpoints`
}
