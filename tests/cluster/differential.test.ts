/** The embedded API server answers as the real one does: the same requests to both, and every answer compared. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { silentLogger } from '../../src/core/logger.ts'
import { startApiServer } from '../../src/embedded/api-server.ts'
import type { ApiServer } from '../../src/embedded/api-server.ts'
import { allResources } from '../../src/embedded/resources/all-resources.ts'
import { ApiClient, fetchRequests } from '../../src/embedded/testing/api-client.ts'
import type { Answer } from '../../src/embedded/testing/api-client.ts'
import { allScenarios } from './differential/all-scenarios.ts'
import { comparable } from './differential/comparable.ts'
import { runScenario } from './differential/run-scenario.ts'
import type { Scenario } from './differential/scenario.ts'
import { startControlPlane } from './testing/control-plane.ts'
import type { ControlPlane } from './testing/control-plane.ts'

let real: ControlPlane
let embedded: ApiServer
let clients: readonly [ours: ApiClient, theirs: ApiClient]
beforeAll(async () => {
  real = await startControlPlane()
  embedded = await startApiServer({
    resources: allResources,
    clock: systemClock,
    log: silentLogger,
    serviceCidrs: ['10.96.0.0/16', 'fd00:10:96::/112'],
  })
  clients = [new ApiClient(fetchRequests(embedded.url)), real.client]
  for (const client of clients) await client.expect(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'demo' } })
})
afterAll(async () => {
  await embedded[Symbol.asyncDispose]()
  await real[Symbol.asyncDispose]()
})

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
  const [ours, theirs] = await Promise.all(clients.map((client) => runScenario(scenario, client)))
  const compared = (all: readonly Answer[] = []) =>
    scenario.steps.map(({ method, path }, index) => {
      const answer = all[index]
      return { asked: `${method} ${path}`, ...(answer === undefined ? {} : comparable(answer, scenario)) }
    })
  return [compared(ours), compared(theirs)]
}
