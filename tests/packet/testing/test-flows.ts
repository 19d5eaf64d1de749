import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { families } from '../../../src/net/ip.ts'
import { plans } from './address-plan.ts'
import { describeEach, skipped } from './proxies.ts'
import { Explained } from './explained.ts'
import { compareRow, explainedRow } from './observe.ts'
import type { Proxy } from './proxy.ts'
import { addressOf, Rig } from './rig.ts'
import { isOnNode } from './row.ts'
import type { Scenario } from './row.ts'
import { scenariosOf } from './scenarios.ts'

/** Declares a test for each row and family. Each proxy has a test file, so that they share the machine's cores. */
export function testFlows(...proxies: readonly Proxy[]): void {
  for (const proxy of proxies) testScenarios(proxy, scenariosOf(proxy.mode))
}

export function testScenarios(proxy: Proxy, scenariosOfProxy: readonly Scenario[]): void {
  describeEach([proxy], () => {
    for (const scenario of scenariosOfProxy)
      describe(`with ${scenario.name}`, () => {
        runScenario(proxy, scenario)
      })
  })
}

function runScenario(proxy: Proxy, scenario: Scenario): void {
  let rig: Rig
  let explained: Explained
  beforeAll(async () => {
    explained = await Explained.of({ ...scenario, mode: proxy.mode })
    rig = await Rig.start(proxy, scenario.settings, scenario.services)
    prepareNode(rig, scenario)
  })
  afterAll(() => rig?.[Symbol.asyncDispose]())

  for (const row of scenario.rows)
    for (const family of row.families) {
      const obstacle = row.needs.map((feature) => proxy.cannot[feature]).find((reason) => reason !== undefined)
      test.skipIf(obstacle !== undefined)(
        `${family}: ${row.sentence} (${row.number})${skipped(obstacle)}`,
        { concurrent: true },
        async () => {
          const { expected, observed } = await compareRow(rig, row, family)
          expect(observed).toEqual(expected)
          expect(explainedRow(explained, row, family), 'as explained').toEqual(observed)
        },
      )
    }
}

/** Where a packet that no rule touches ends, somebody answers; and each second VIP is an address of the node, as some load balancers do it. */
function prepareNode({ cluster }: Rig, { rows, services }: Scenario): void {
  const targets = rows.filter(({ expect: expected }) => expected.kind === 'untouched').flatMap(({ to }) => to)
  const ports = targets.filter(isOnNode).map((target) => addressOf(target, 'ipv4').port)
  for (const port of new Set(ports)) cluster.listenOnNode(port)
  for (const target of targets.filter(({ port }) => port.protocol === 'UDP'))
    for (const family of families) cluster.listenBeyond(addressOf(target, family))
  for (const { index } of services.filter(({ vips }) => vips === 'two'))
    for (const family of families) cluster.addNodeAddress(plans[family].secondVip(index))
}
