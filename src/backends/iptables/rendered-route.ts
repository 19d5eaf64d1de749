/** Everything one route puts into the tables, as text: what is written, remembered and compared. */
import type { Route } from '../../core/route.ts'
import { renderRule } from '../../dataplane/iptables/language/render-rule.ts'
import { renderChain } from '../../dataplane/iptables/language/rendered-chain.ts'
import type { RenderedRoute } from '../../dataplane/iptables/language/rendered-rules.ts'
import { serviceChainNames } from './chain-names.ts'
import { serviceChains } from './service-chains.ts'
import type { ChainOptions } from './service-chains.ts'
import { sharedRules } from './shared-rules.ts'

export function renderRoute(route: Route, options: ChainOptions): RenderedRoute {
  const names = serviceChainNames(route)
  return {
    shared: sharedRules(route, names, options.settings).map(({ table, chain, rule }) => ({
      table,
      chain,
      rule: renderRule(rule),
    })),
    chains: serviceChains(route, names, options).map(renderChain),
  }
}
