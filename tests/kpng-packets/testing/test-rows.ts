import { scenarios } from '../../packet/testing/scenarios.ts'
import { testScenarios } from '../../packet/testing/test-flows.ts'
import type { Proxy } from '../../packet/testing/proxy.ts'

/** Every row, with plain settings: other settings concern the backend alone, wherever its objects come from. */
export function testRows(proxy: Proxy): void {
  const plain = scenarios.filter(({ name }) => name === 'plain settings')
  testScenarios(
    proxy,
    plain.map((scenario) => ({ ...scenario, rows: scenario.rows.filter(({ modes }) => modes.includes(proxy.mode)) })),
  )
}
