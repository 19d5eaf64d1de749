/**
 * The limits of a Service port. A packet that opens a connection comes here before an endpoint is picked for it, once, by
 * whichever address or node port: so all of them share one count.
 */
import type { Entrance, Route } from '../../core/route.ts'
import { commentedRule, rule } from '../../dataplane/nft/rule.ts'
import type { SetDeclaration } from '../../dataplane/nft/nft.ts'
import type { Rule, Statement } from '../../dataplane/nft/rule.ts'
import { addressMaps, nodePortMaps, rangeMaps } from './entrance-maps.ts'
import type { EntranceMaps, Limit } from './entrance-maps.ts'
import { noOwnChains } from './own-chains.ts'
import type { OwnChains } from './own-chains.ts'
import { shortCircuit } from './pick-chains.ts'
import type { PlannedChain } from './planned-chain.ts'
import { routeId } from './route-id.ts'
import type { NftablesSettings } from './settings.ts'

/**
 * In the order in which they are asked. A connection that is refused because too many are open was no dial; one that is
 * refused as a dial is forgotten by the kernel, because it never opens.
 */
const limits = ['connections', 'dials'] as const satisfies readonly Limit[]

/** Those that the Service port has. */
export function limitsOf({ traffic }: Route): readonly Limit[] {
  return traffic === undefined ? none : limits.filter((limit) => most(limit, traffic) !== undefined)
}

const none: readonly Limit[] = []

function most(limit: Limit, { maxConnections, maxDialsPerSecond }: NonNullable<Route['traffic']>): number | undefined {
  return limit === 'connections' ? maxConnections : maxDialsPerSecond
}

/** Where packets go that come by the entrance of a Service port with limits. */
export function limitChainAt(route: Route, { outside }: Entrance): string {
  return outside.kind === 'forward' ? limitChainName(route) : insideChainName(route)
}

export function limitChains(route: Route, settings: NftablesSettings): OwnChains {
  const had = limitsOf(route)
  if (had.length === 0) return noOwnChains
  const { traffic = {}, entrances, ranges } = route
  const { maxConnections } = traffic
  const maps = [
    ...[addressMaps, nodePortMaps].filter((each) => entrances.some((entrance) => isIn(each, entrance))),
    ...(ranges === undefined ? [] : [rangeMaps]),
  ]
  const isServedInside = entrances.some(
    ({ inside, outside }) => inside.kind === 'forward' && outside.kind !== 'forward',
  )
  return {
    sets: maxConnections === undefined ? [] : [openConnections(route, maxConnections)],
    chains: [
      ...had.map((limit) => refusingChain(route, limit, maps)),
      limitChain(route, had, maps),
      ...(isServedInside ? [insideChain(route, settings)] : []),
    ],
  }
}

function isIn(maps: EntranceMaps, { kind }: Entrance): boolean {
  return (maps === nodePortMaps) === (kind === 'node-port')
}

/** It is its own for each number: the kernel keeps the number with the connections. */
function openConnections(route: Route, maxConnections: number): SetDeclaration {
  return {
    name: `open-${maxConnections}/${routeId(route)}`,
    // The kernel wants a key. This one is the same for all that come.
    key: ['inet_proto'],
    keepsConnections: true,
    comment: 'open connections',
  }
}

function limitChain(route: Route, had: readonly Limit[], maps: readonly EntranceMaps[]): PlannedChain {
  const { maxConnections = 0, maxDialsPerSecond = 0 } = route.traffic ?? {}
  const isOver: Readonly<Record<Limit, Statement>> = {
    connections: {
      kind: 'open connections over',
      most: maxConnections,
      set: openConnections(route, maxConnections).name,
    },
    dials: { kind: 'dials over', perSecond: maxDialsPerSecond },
  }
  return {
    name: limitChainName(route),
    comment: 'limits of this Service port, for all its addresses together',
    rules: [
      ...had.map((limit) => rule(isOver[limit], { kind: 'goto', chain: refusingChainName(route, limit) })),
      ...maps.map(({ fields, limitedServices }) => rule({ kind: 'look up verdict', fields, map: limitedServices })),
    ],
  }
}

function refusingChain(route: Route, limit: Limit, maps: readonly EntranceMaps[]): PlannedChain {
  const counts = maps.map(({ fields, refused }): Rule =>
    commentedRule('counts', { kind: 'in set', fields, set: refused[limit] }),
  )
  return {
    name: refusingChainName(route, limit),
    comment: `refuses: ${words[limit]}`,
    rules: [...counts, rule({ kind: route.protocol === 'TCP' ? 'reset' : 'reject' })],
  }
}

const words: Readonly<Record<Limit, string>> = {
  connections: 'too many connections are open',
  dials: 'too many connections come in a second',
}

/** Where nobody serves clients outside, they are turned away as ever, and use up nothing. */
function insideChain(route: Route, settings: NftablesSettings): PlannedChain {
  return {
    name: insideChainName(route),
    comment: 'limits for pods and programs here; nobody serves others',
    rules: shortCircuit(settings, { kind: 'goto', chain: limitChainName(route) }),
  }
}

function limitChainName(route: Route): string {
  return `limited/${routeId(route)}`
}

function insideChainName(route: Route): string {
  return `limited-inside/${routeId(route)}`
}

function refusingChainName(route: Route, limit: Limit): string {
  return `refused-${limit}/${routeId(route)}`
}
