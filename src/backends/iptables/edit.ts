/** The smallest restore input that leads from what was written to what is wanted, for the routes that changed. */
import type { NodeView } from '../../core/backend.ts'
import type { RouteKey } from '../../core/route.ts'
import { nodePortTail } from './fixed-chains.ts'
import { renderRoute } from './rendered-route.ts'
import { isSameText } from '../../dataplane/iptables/language/edit-rules.ts'
import type { WantedRoutes } from '../../dataplane/iptables/language/edit-rules.ts'
import { renderRule } from '../../dataplane/iptables/language/render-rule.ts'
import type { RestoreInput } from '../../dataplane/iptables/language/restore-input.ts'
import { largeClusterEndpoints } from './settings.ts'
import type { IptablesSettings } from './settings.ts'
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'
import type { Written, WrittenRoute } from './written.ts'

export function wantedRoutes(
  written: Written,
  view: NodeView,
  settings: IptablesSettings,
  keys: readonly RouteKey[],
): WantedRoutes<WrittenRoute> {
  let endpoints = written.endpoints
  for (const key of keys)
    endpoints += (view.routesByKey.get(key)?.endpoints.length ?? 0) - (written.get(key)?.route.endpoints.length ?? 0)
  const options = { settings, isLargeCluster: endpoints > largeClusterEndpoints }
  const wanted = new Map<RouteKey, WrittenRoute | undefined>()
  for (const key of keys) {
    const route = view.routesByKey.get(key)
    if (route === undefined) wanted.set(key, undefined)
    // A route that is still the same object has not changed. After a repair all of them are listed.
    else if (route !== written.get(key)?.route) wanted.set(key, { route, rendered: renderRoute(route, options) })
  }
  return wanted
}

/** The last rules of nat/KUBE-SERVICES, when the node's addresses have changed. */
export function replaceTail(before: IptablesSettings, after: IptablesSettings, input: RestoreInput): void {
  const old = nodePortTail(before).map(renderRule)
  const now = nodePortTail(after).map(renderRule)
  if (isSameText(old, now)) return
  for (const rule of old) input.delete('nat', topChains.services, rule)
  for (const rule of now) input.append('nat', topChains.services, rule)
}
