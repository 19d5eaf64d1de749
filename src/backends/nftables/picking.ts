/**
 * How a Service port picks endpoints. Chains pick numbers and know nothing of endpoints; so an endpoint with a larger share
 * has several numbers, its slots, and a Maglev table is nothing but slots, too.
 */
import type { Algorithm } from '../../api/records.ts'
import { maglevTable } from '../../core/balance/maglev.ts'
import { tableSlotsOf } from '../../core/balance/slots.ts'
import type { Endpoint, NonEmpty, Outcome, Route } from '../../core/route.ts'
import type { IndexBy } from '../../dataplane/nft/rule.ts'
import { routeId } from './route-id.ts'

export interface Picking {
  readonly slots: NonEmpty<Endpoint>
  readonly by: IndexBy
  /** Whose turns they are; empty where nobody counts any. */
  readonly turnsOf: string
}

export function pickingOf(route: Route, { to, policy }: Extract<Outcome, { readonly kind: 'forward' }>): Picking {
  const algorithm = route.traffic?.algorithm
  const slots = algorithm === 'maglev' ? maglevSlotsOf(to) : tableSlotsOf(to)
  const by = slots.length === 1 ? 'chance' : indexBy(algorithm)
  return { slots, by, turnsOf: by === 'turn' ? `turn${policy === 'Local' ? '-local' : ''}/${routeId(route)}` : '' }
}

function indexBy(algorithm: Algorithm | undefined): IndexBy {
  switch (algorithm) {
    case 'round-robin':
      return 'turn'
    case 'source-hash':
      return 'source'
    case 'maglev':
      return 'flow'
    case 'least-connections': // Nobody in the kernel counts them: the mode does not offer it.
    case 'random':
    case undefined:
      return 'chance'
    default:
      return algorithm satisfies never
  }
}

function maglevSlotsOf(to: NonEmpty<Endpoint>): NonEmpty<Endpoint> {
  const [first] = to
  if (to.length === 1) return to
  const slots = Array.from(maglevTable(to), (index) => to[index] ?? first)
  return slots as unknown as NonEmpty<Endpoint>
}
