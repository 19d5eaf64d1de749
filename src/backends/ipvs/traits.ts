/** What a client of the ipvs mode meets. */
import type { Choosing, ModeTraits } from '../../core/explain/mode-traits.ts'
import type { Route } from '../../core/route.ts'
import { schedulingOf } from './scheduling.ts'

export function ipvsTraits({ scheduler }: { readonly scheduler: string }): ModeTraits {
  const { choice, shares } = choosingBy(scheduler, false)
  return {
    mode: 'ipvs',
    choice,
    isEven: shares !== 'not known',
    choosing: (route) => choosingBy(schedulingOf(route, scheduler).scheduler, hasShares(route)),
    endpoints: 'one list',
    unserved: 'by a rule',
    sourceRanges: 'first',
    // The rules ask on the way in; on the way out only for the address of the load balancer itself.
    asksRangesOfNode: false,
    // The addresses are on a link of this node, so that a daemon of the node would answer.
    rejectsOtherPorts: 'at all addresses',
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
}

function hasShares({ clusterEndpoints }: Pick<Route, 'clusterEndpoints'>): boolean {
  return clusterEndpoints.some(({ weight }) => weight > 1)
}

function choosingBy(scheduler: string, hasWeights: boolean): Choosing {
  const known = wordsByScheduler[scheduler]
  if (known === undefined) return { choice: `by the scheduler ${scheduler} of IPVS`, shares: 'not known' }
  const { words, shares } = known
  const choice = hasWeights && !blindToWeights.includes(scheduler) ? `${words}, by weight` : words
  return { choice: words === inTurn ? choice : `${choice} (scheduler ${scheduler})`, shares }
}

const blindToWeights: readonly string[] = ['rr', 'lc', 'dh']

interface Words {
  readonly words: string
  readonly shares: Choosing['shares']
}

const inTurn = 'each in turn'
const fewest: Words = { words: 'the one with the fewest connections', shares: 'not known' }
const nearestAddress: Words = { words: 'the same for all clients of an address, until it is busy', shares: 'not known' }

const wordsByScheduler: Readonly<Record<string, Words>> = {
  rr: { words: inTurn, shares: 'equal' },
  wrr: { words: inTurn, shares: 'by weight' },
  lc: fewest,
  wlc: fewest,
  sed: fewest,
  nq: { words: 'one without connections, or else the one with the fewest', shares: 'not known' },
  lblc: nearestAddress,
  lblcr: nearestAddress,
  sh: { words: 'by the address of the client', shares: 'by weight' },
  dh: { words: 'the same for all clients of an address', shares: 'not known' },
  mh: { words: 'by the address and port of the client', shares: 'by weight' },
}
