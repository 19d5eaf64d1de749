/** What the node itself asks for, besides its Services. */
import type { RouteKey } from '../../core/route.ts'
import type { NftOperation } from '../../dataplane/nft/nft.ts'
import { disjointCidrs } from '../../net/disjoint-cidrs.ts'
import { prefixText } from './prefix-text.ts'
import { plannedElement } from './route-plan.ts'
import type { RoutePlan } from './route-plan.ts'
import { noStickyChains } from './sticky-chains.ts'

export interface NodeWishes {
  /** Addresses that node ports are open on, when they are not open on all. */
  readonly nodePortIps: readonly string[]
  readonly serviceCidrs: readonly string[]
}

/** The node takes part like a route that no Service can have. */
export const nodeKey = '' as RouteKey

export function planNode({ nodePortIps, serviceCidrs }: NodeWishes): RoutePlan {
  const elements = [
    ...disjointCidrs(serviceCidrs).map((cidr) => plannedElement('service-cidrs', prefixText(cidr))),
    ...nodePortIps.map((ip) => plannedElement('node-ips', ip)),
  ]
  return { elements, pickChains: [], sticky: noStickyChains }
}

/** Whether it is about elements that the node asks for. */
export function isForNode(operation: NftOperation): boolean {
  const isAboutElements = operation.do === 'add elements' || operation.do === 'delete elements'
  return isAboutElements && (operation.set.name === 'service-cidrs' || operation.set.name === 'node-ips')
}
