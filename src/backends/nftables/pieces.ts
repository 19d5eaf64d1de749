/** What the table holds for one route, piece by piece. The cost follows the route, and not the table. */
import type { PlannedRule } from '../../core/inspect-pieces.ts'
import type { PieceEntrance, PlannedPiece } from '../../core/inspection.ts'
import type { RouteKey } from '../../core/route.ts'
import { isSameData } from '../../core/same-data.ts'
import { kindOf, nftFamily, renderElement } from '../../dataplane/nft/command/script.ts'
import { tableName } from '../../dataplane/nft/nft.ts'
import type { SetDeclaration } from '../../dataplane/nft/nft.ts'
import { renderRule } from '../../dataplane/nft/render-rule.ts'
import type { Rule } from '../../dataplane/nft/rule.ts'
import { hostPort, parseIp } from '../../net/ip.ts'
import { containersOf, rangeContainerNames } from './containers.ts'
import type { ContainerName } from './containers.ts'
import { elementId, elementsById, toSetElement } from './element-changes.ts'
import { ownerOf } from './element-owners.ts'
import { pickChain } from './pick-chains.ts'
import { routePlanIn } from './plan.ts'
import type { NftablesPlan } from './plan.ts'
import type { PlannedChain } from './planned-chain.ts'
import type { PlannedElement } from './route-plan.ts'
import type { NftablesSettings } from './settings.ts'

export interface RoutePieces {
  readonly elements: readonly ElementPiece[]
  /** Those that pick an endpoint are shared with all routes that have as many. */
  readonly chains: readonly ChainPieces[]
  readonly ownSets: readonly { readonly name: string; readonly piece: PlannedPiece }[]
}

export interface ElementPiece {
  readonly element: PlannedElement
  /** The container that it is in. */
  readonly set: SetDeclaration
  readonly piece: PlannedPiece
}

export interface ChainPieces {
  readonly name: string
  readonly piece: PlannedPiece
  readonly rules: readonly PlannedRule[]
}

/** Undefined: there is no such route in the plan. */
export function routePieces(plan: NftablesPlan, key: RouteKey): RoutePieces | undefined {
  if (!plan.routesByKey.has(key)) return undefined
  const { settings } = plan
  const { elements, pickChains, own } = routePlanIn(plan, key)
  const containers = containersOf(settings)
  const table = `table ${nftFamily(settings.family)} ${tableName}`
  return {
    elements: elements
      .filter((element) => isHeldFor(plan, key, element))
      .flatMap((element) => [element, ...element.companions])
      .map((element) => elementPiece(element, containers[element.container])),
    chains: [...pickChains.map((chain) => pickChain(chain, settings)), ...own.chains].map((chain) =>
      chainPieces(chain, table, settings),
    ),
    ownSets: own.sets.map(({ name }) => ({ name, piece: { kind: 'set', where: table, text: `set ${name}` } })),
  }
}

/** Those of the elements first, then chain by chain. */
export function allPieces({ elements, chains, ownSets }: RoutePieces): readonly PlannedPiece[] {
  return [...elements, ...ownSets, ...chains.flatMap((chain) => [chain, ...chain.rules])].map(({ piece }) => piece)
}

/** Where several routes want an element, one has it. To the others it belongs as well, if they want the same. */
function isHeldFor(plan: NftablesPlan, key: RouteKey, element: PlannedElement): boolean {
  const owner = ownerOf(plan.owners, element)
  if (owner === key || owner === undefined) return owner === key
  return isSameData(elementsById(routePlanIn(plan, owner).elements).get(elementId(element)), element)
}

function elementPiece(element: PlannedElement, set: SetDeclaration): ElementPiece {
  const entrance = entranceOf(element)
  const piece = {
    kind: 'element',
    where: `${kindOf(set)} ${set.name}`,
    text: renderElement(toSetElement(element)),
    ...(entrance && { entrance }),
  }
  if (!endpointMaps.has(element.container)) return { element, set, piece }
  const [ip = '', port] = element.value.split(' . ')
  return { element, set, piece: { ...piece, endpoint: hostPort(ip, Number(port)) } }
}

/** Keys begin with what packets are looked up by, but for hairpin, which is about endpoints. */
function entranceOf({ container, key }: PlannedElement): PieceEntrance | undefined {
  if (container === 'hairpin' || container === 'range-hairpin') return undefined
  const [first = '', second, third] = key.split(' . ')
  if (container === 'cluster-ips' || container === 'tracked-ips') return { ip: first }
  if (parseIp(first) === undefined) return { port: Number(second) }
  const [port = 0, lastPort] = third?.split('-').map(Number) ?? []
  const isRange = lastPort !== undefined || rangeContainerNames.has(container)
  return { ip: first, port, ...(isRange && { lastPort: lastPort ?? port }) }
}

const endpointMaps: ReadonlySet<ContainerName> = new Set([
  'endpoints',
  'local-endpoints',
  'nodeport-endpoints',
  'local-nodeport-endpoints',
])

function chainPieces({ name, rules }: PlannedChain, table: string, { family }: NftablesSettings): ChainPieces {
  return {
    name,
    piece: { kind: 'chain', where: table, text: `chain ${name}` },
    rules: rules.map((rule) => {
      const text = renderRule(rule, family)
      const endpoint = endpointIn(rule)
      const piece = { kind: 'rule', where: `chain ${name}`, text }
      return { piece: endpoint === undefined ? piece : { ...piece, endpoint }, readsAs: text }
    }),
  }
}

function endpointIn({ statements }: Rule): string | undefined {
  const dnat = statements.find((statement) => statement.kind === 'dnat')
  // In a range the port is that of the packet.
  return dnat?.port === undefined ? undefined : hostPort(dnat.ip, dnat.port)
}
