/** The elements that the node itself needs, whatever its Services are. No route ever wants one of them. */
import type { NftOperation } from '../../dataplane/nft/nft.ts'
import { disjointCidrs } from '../../net/disjoint-cidrs.ts'
import { prefixText } from './prefix-text.ts'
import { plannedElement } from './route-plan.ts'
import type { PlannedElement } from './route-plan.ts'

export interface NodeAddresses {
  /** Those that node ports are open on, when they are not open on all. */
  readonly nodePortIps: readonly string[]
  readonly serviceCidrs: readonly string[]
}

export function nodeElements({ nodePortIps, serviceCidrs }: NodeAddresses): readonly PlannedElement[] {
  return [
    ...disjointCidrs(serviceCidrs).map((cidr) => plannedElement('service-cidrs', prefixText(cidr))),
    ...nodePortIps.map((ip) => plannedElement('node-ips', ip)),
  ]
}

export function isForNode(operation: NftOperation): boolean {
  const isAboutElements = operation.do === 'add elements' || operation.do === 'delete elements'
  return isAboutElements && (operation.set.name === 'service-cidrs' || operation.set.name === 'node-ips')
}
