/** By which scheduler of the kernel a route's virtual servers choose an endpoint, and the weights it needs for that. */
import type { Algorithm, IpvsScheduler } from '../../api/records.ts'
import { wholeShares } from '../../core/balance/slots.ts'
import type { Endpoint, Route } from '../../core/route.ts'
import { serverFlag } from '../../dataplane/ipvs/ipvs.ts'
import type { VirtualServer } from '../../dataplane/ipvs/ipvs.ts'

export type Scheduling = Pick<VirtualServer, 'scheduler' | 'flags'>

type ScheduledRoute = Pick<Route, 'traffic' | 'reachableEndpoints'>

/** `usual`: for Services that ask for nothing. A scheduler that the Service names is taken as it is. */
export function schedulingOf(route: ScheduledRoute, usual: string): Scheduling {
  const { ipvsScheduler, algorithm } = route.traffic ?? nothingAsked
  const asked = ipvsScheduler ?? schedulerFor(algorithm)
  if (asked === undefined) return usualScheduling(usual, isWeighted(route))
  const scheduler = ipvsScheduler ?? withWeights(asked, isWeighted(route))
  return { scheduler, flags: askedFlags[scheduler] ?? 0 }
}

/** As kube-proxy has it, where all weights are equal. */
export function usualScheduling(usual: string, hasWeights: boolean): Scheduling {
  const scheduler = withWeights(usual, hasWeights)
  // Clients behind one address (a NAT gateway) would otherwise all meet the same endpoint.
  return { scheduler, flags: scheduler === 'mh' ? serverFlag.scheduler2 : 0 }
}

const nothingAsked: NonNullable<Route['traffic']> = {}

const schedulersByAlgorithm: Readonly<Partial<Record<Algorithm, IpvsScheduler>>> = {
  'round-robin': 'rr',
  'least-connections': 'lc',
  'source-hash': 'sh',
  maglev: 'mh',
}

/** What this mode can do. */
export const ipvsAlgorithms = Object.keys(schedulersByAlgorithm) as readonly Algorithm[]

function schedulerFor(algorithm: Algorithm | undefined): IpvsScheduler | undefined {
  return algorithm && schedulersByAlgorithm[algorithm]
}

/** These do not look at weights; the same with weights has another name. */
const weightedForms: Readonly<Record<string, string>> = { rr: 'wrr', lc: 'wlc' }

function withWeights(scheduler: string, hasWeights: boolean): string {
  return (hasWeights ? weightedForms[scheduler] : undefined) ?? scheduler
}

/**
 * Weights that time changes count from the beginning: while the kernel replaces the scheduler of a virtual server, it
 * refuses new connections for a moment.
 */
function isWeighted({ traffic, reachableEndpoints }: ScheduledRoute): boolean {
  if (traffic?.slowStartMs !== undefined) return true
  const [first] = reachableEndpoints
  return reachableEndpoints.some(({ weight }) => weight !== first?.weight)
}

/** The hash leads elsewhere while an endpoint drains, instead of refusing its clients: `sh-fallback`, `mh-fallback`. */
const askedFlags: Readonly<Record<string, number>> = {
  sh: serverFlag.scheduler1,
  mh: serverFlag.scheduler1 | serverFlag.scheduler2,
}

export type WeighedEndpoint = Pick<Endpoint, 'ip' | 'port' | 'address' | 'weight'>

/** The kernel's table of `sh`: an endpoint has as many places in it, one after the other, as its weight says. */
const placesOfSh = 256

/**
 * The endpoints of one server with the weights for the kernel; the same list where they have them already. All have 0 only
 * where nobody else is left: then all serve.
 */
export function weighed(endpoints: readonly Endpoint[], scheduler: string): readonly WeighedEndpoint[] {
  const [first, ...others] = endpoints
  if (first === undefined) return endpoints
  const isEven = others.every(({ weight }) => weight === first.weight)
  if (isEven && (first.weight === 0 || scheduler === 'sh'))
    return first.weight === 1 ? endpoints : endpoints.map((endpoint) => withWeight(endpoint, 1))
  if (isEven || scheduler !== 'sh') return endpoints
  const places = wholeShares(endpoints, placesOfSh)
  return endpoints.map((endpoint, index) => withWeight(endpoint, places[index] ?? 1))
}

function withWeight({ ip, port, address }: Endpoint, weight: number): WeighedEndpoint {
  return { ip, port, address, weight }
}
