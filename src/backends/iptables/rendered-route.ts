/** Everything one route puts into the tables, as text: what is written, remembered and compared. */
import type { Route } from '../../core/route.ts'
import { renderRule } from './render-rule.ts'
import { renderChain } from './rendered-chain.ts'
import type { RenderedChain } from './rendered-chain.ts'
import { serviceChains } from './service-chains.ts'
import type { ChainOptions } from './service-chains.ts'
import { serviceFacts } from './service-facts.ts'
import { sharedRules } from './shared-rules.ts'
import type { Table } from './top-chains.ts'

export interface RenderedRoute {
  /** In chains that all Services share, in order. */
  readonly shared: readonly SharedLine[]
  /** Its own chains in the nat table. */
  readonly chains: readonly RenderedChain[]
}

export interface SharedLine {
  readonly table: Table
  readonly chain: string
  /** The rule without `-A CHAIN`. */
  readonly rule: string
}

export function renderRoute(route: Route, options: ChainOptions): RenderedRoute {
  const facts = serviceFacts(route)
  return {
    shared: sharedRules(facts, options.settings).map(({ table, chain, rule }) => ({
      table,
      chain,
      rule: renderRule(rule),
    })),
    chains: serviceChains(facts, options).map(renderChain),
  }
}
