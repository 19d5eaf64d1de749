/** What is known on a node, or of one in files, as an explanation needs it. */
import type { Catalog } from '../../core/catalog.ts'
import type { ModeTraits } from '../../core/explain/mode-traits.ts'
import type { RouteKnowledge, World } from '../../core/explain/world.ts'
import type { Family } from '../../net/ip.ts'
import type { ModeSettings } from '../modes/mode.ts'
import { trafficSettings } from '../modes/traffic-settings.ts'

export interface WorldParts {
  readonly catalog: Catalog
  readonly traits: ModeTraits
  readonly settings: ModeSettings
  readonly tables: readonly { readonly family: Family; readonly table: RouteKnowledge }[]
}

export function explainWorld({ catalog, traits, settings, tables }: WorldParts): World {
  const { detectLocalMode } = settings.config
  return {
    catalog,
    traits,
    families: tables.map(({ family, table }) => ({
      family,
      table,
      traffic: trafficSettings(family, settings),
      detectLocalMode,
    })),
  }
}
