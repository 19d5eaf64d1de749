/** The embedded API server answers as the real one does: the same requests to both, and every answer compared. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Answer } from '../../src/embedded/testing/api-client.ts'
import { allScenarios } from './differential/all-scenarios.ts'
import { comparable } from './differential/comparable.ts'
import { runScenario } from './differential/run-scenario.ts'
import type { Scenario } from './differential/scenario.ts'
import { startBothServers } from './testing/both-servers.ts'
import type { BothServers } from './testing/both-servers.ts'

let servers: BothServers
beforeAll(async () => {
  servers = await startBothServers()
  for (const client of [servers.ours, servers.theirs]) {
    await client.expect(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'demo' } })
  }
})
afterAll(() => servers[Symbol.asyncDispose]())

for (const scenario of allScenarios.filter(({ differs }) => differs === undefined)) {
  test(`${scenario.name}: both answer alike`, async () => {
    const [ours, theirs] = await answers(scenario)
    expect(ours).toEqual(theirs)
  })
}

for (const scenario of allScenarios.filter(({ differs }) => differs !== undefined)) {
  test(`${scenario.name} differs: ${scenario.differs}`, async () => {
    const [ours, theirs] = await answers(scenario)
    expect(ours, 'they agree now: the scenario need not be marked').not.toEqual(theirs)
  })
}

async function answers(scenario: Scenario): Promise<readonly [ours: unknown, theirs: unknown]> {
  const [ours, theirs] = await Promise.all([runScenario(scenario, servers.ours), runScenario(scenario, servers.theirs)])
  const compared = (all: readonly Answer[]) =>
    all.map((answer, index) => {
      const step = scenario.steps[index]
      return { asked: `${step?.method} ${step?.path}`, ...comparable(answer, scenario) }
    })
  return [compared(ours), compared(theirs)]
}
