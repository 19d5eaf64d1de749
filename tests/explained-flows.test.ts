/**
 * What `fairlead explain` says about each flow of the packet tests is what the row expects. That real packets do as the
 * rows expect is for tests/packet and tests/ipvs to show; those compare the explanation with what they see, too.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { userspaceScenarios } from './packet/rows/userspace.ts'
import { Explained } from './packet/testing/explained.ts'
import { explainedRow, expectedOf } from './packet/testing/observe.ts'
import type { ProxyMode } from './packet/testing/proxy.ts'
import { proxyModes } from './packet/testing/proxy.ts'
import type { Scenario } from './packet/testing/row.ts'
import { scenariosOf } from './packet/testing/scenarios.ts'

for (const mode of [...proxyModes, 'userspace'] as const)
  describe(`${mode} mode`, () => {
    for (const scenario of mode === 'userspace' ? userspaceScenarios() : scenariosOf(mode))
      describe(`with ${scenario.name}`, () => {
        explainScenario(mode, scenario)
      })
  })

function explainScenario(mode: ProxyMode, { settings, services, rows }: Scenario): void {
  let explained: Explained
  beforeAll(async () => {
    explained = await Explained.of({ mode, settings, services })
  })

  test.each(rows.flatMap((row) => row.families.map((family) => ({ row, family, sentence: row.sentence }))))(
    '$family: $sentence',
    ({ row, family }) => {
      expect(explainedRow(explained, row, family)).toEqual(expectedOf(row, family))
    },
  )
}
