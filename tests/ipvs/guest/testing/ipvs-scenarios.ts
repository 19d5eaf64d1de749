import type { Scenario } from '../../../packet/testing/row.ts'
import { scenarios } from '../../../packet/testing/scenarios.ts'

/** A guest is slow. What the other scenarios show is decided before a backend sees it, or is in the goldens. */
const names = ['plain settings', 'node ports on the first address only', 'pods not known']

export const ipvsScenarios: readonly Scenario[] = names.map((name) => {
  const found = scenarios.find((scenario) => scenario.name === name)
  if (found === undefined) throw new Error(`no scenario "${name}" in the packet tests`)
  return { ...found, rows: found.rows.filter(({ modes }) => modes.includes('ipvs')) }
})
