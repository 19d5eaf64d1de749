import type { ApiResponse, SendRequest } from '../testing/api-client.ts'
import { path } from './scenario.ts'
import type { Plural, Scenario } from './scenario.ts'

/** Sends the requests of a scenario and takes away what they left behind. */
export async function runScenario(scenario: Scenario, send: SendRequest): Promise<readonly ApiResponse[]> {
  const responses: ApiResponse[] = []
  for (const step of scenario.steps) responses.push(await send(step))
  for (const plural of ['services', 'endpoints', 'endpointslices', 'events', 'nodes', 'servicecidrs'] as const) {
    await removeAll(plural, send)
  }
  return responses
}

async function removeAll(plural: Plural, send: SendRequest): Promise<void> {
  const { body } = await send({ method: 'GET', path: path(plural) })
  for (const item of (body['items'] ?? []) as readonly { metadata: { name: string } }[]) {
    // The servers' own range stays.
    if (item.metadata.name === 'kubernetes') continue
    const response = await send({ method: 'DELETE', path: path(plural, `/${item.metadata.name}`) })
    if (response.status >= 300) {
      throw new Error(`could not remove ${plural}/${item.metadata.name} after the scenario: ${response.body.message}`)
    }
  }
}
