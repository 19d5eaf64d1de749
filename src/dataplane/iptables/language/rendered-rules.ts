/** The rules of one route: in chains of its own, and among those of others in chains that all share. */
import type { Table } from './kube-chains.ts'
import { renderRule } from './render-rule.ts'
import { renderChain } from './rendered-chain.ts'
import type { RenderedChain } from './rendered-chain.ts'
import type { Chain, Rule } from './rule.ts'

export interface RouteRules {
  /** In chains that all Services share, in order. */
  readonly shared: readonly SharedRule[]
  /** Its own chains in the nat table. */
  readonly chains: readonly Chain[]
}

export interface SharedRule {
  readonly table: Table
  readonly chain: string
  readonly rule: Rule
}

/** The same as text, which is what is kept of many thousand routes: it takes a fraction of the memory. */
export interface RenderedRoute {
  readonly shared: readonly SharedLine[]
  readonly chains: readonly RenderedChain[]
}

export interface SharedLine {
  readonly table: Table
  readonly chain: string
  /** The rule without `-A CHAIN`. */
  readonly rule: string
}

export function renderRouteRules({ shared, chains }: RouteRules): RenderedRoute {
  return {
    shared: shared.map(({ table, chain, rule }) => ({ table, chain, rule: renderRule(rule) })),
    chains: chains.map(renderChain),
  }
}
