/** What is known on a node, or of one in files, as an explanation needs it. */
import type { Catalog } from '../../core/catalog.ts'
import type { ModeTraits } from '../../core/explain/mode-traits.ts'
import type { RouteKnowledge, World } from '../../core/explain/world.ts'
import { OwnPods } from '../../core/node/own-pods.ts'
import type { TrafficSettings } from '../../core/node/traffic-settings.ts'
import type { Family } from '../../net/ip.ts'
import type { ModeSettings } from '../modes/mode.ts'
import { trafficSettings } from '../modes/traffic-settings.ts'

export interface WorldParts {
  readonly catalog: Catalog
  /** As they are now. */
  readonly traits: () => ModeTraits
  readonly settings: ModeSettings
  readonly tables: readonly { readonly family: Family; readonly table: RouteKnowledge }[]
}

export function explainWorld({ catalog, traits, settings, tables }: WorldParts): World {
  const { detectLocalMode } = settings.config
  return {
    catalog,
    get traits() {
      return traits()
    },
    families: tables.map(({ family, table }) => ({
      family,
      table,
      get traffic() {
        const traffic = trafficSettings(family, settings)
        return traits().localPods === 'as configured' ? traffic : ofThisNode(traffic, settings, table)
      },
      detectLocalMode,
    })),
  }
}

function ofThisNode(traffic: TrafficSettings, { podCIDRs }: ModeSettings, { view }: RouteKnowledge): TrafficSettings {
  const pods = new OwnPods(traffic.localTraffic, podCIDRs)
  for (const { endpoints } of view.routesByKey.values()) pods.note(endpoints)
  return { ...traffic, localTraffic: pods.localTraffic }
}
