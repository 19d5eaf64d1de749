/**
 * The calls that kube-proxy 1.36 makes for the same, counted from its source: before each sync it looks at the network,
 * and reads every endpoint of it and every load balancer of the host, one by one.
 */
import type { HnsRun } from './hns-bench.ts'

/** Enumerate, then open, query and close each. */
const listing = (objects: number) => 1 + 3 * objects
const lookup = listing(1)
const createEndpoint = 5 // open the network, create, query, close both
const createBalancer = 3 // create, query, close
const modifyBalancer = 4 // open, modify, query, close
const deletion = lookup + 1

type Held = Pick<HnsRun, 'balancers' | 'remoteEndpoints' | 'localEndpoints' | 'balancersPerChange'>

/** The start deletes what it finds, which is nothing here. */
export function callsOfFirstSync({ balancers, remoteEndpoints, localEndpoints }: Held): number {
  const reading = lookup + listing(localEndpoints) + listing(0)
  return listing(0) + reading + remoteEndpoints * createEndpoint + balancers * createBalancer
}

/** One endpoint is replaced by another one. */
export function callsOfOneChange(held: Held, { canModify }: { readonly canModify: boolean }): number {
  const { balancers, remoteEndpoints, localEndpoints, balancersPerChange } = held
  const reading = lookup + listing(localEndpoints + remoteEndpoints) + listing(balancers)
  const balancer = canModify ? modifyBalancer : deletion + createBalancer
  return reading + createEndpoint + balancersPerChange * balancer + deletion
}
