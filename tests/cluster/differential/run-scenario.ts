import type { ApiClient, Answer } from '../../../src/embedded/testing/api-client.ts'
import { path } from './scenario.ts'
import type { Plural, Scenario } from './scenario.ts'

/** Sends the requests of a scenario and takes away what they left behind. */
export async function runScenario(scenario: Scenario, client: ApiClient): Promise<readonly Answer[]> {
  const answers: Answer[] = []
  for (const { method, path, body, contentType = 'application/json', accept = 'application/json' } of scenario.steps) {
    // The servers record who changed a field, which is what the client calls itself.
    const headers = { accept, 'user-agent': 'scenario', ...(body === undefined ? {} : { 'content-type': contentType }) }
    answers.push(
      await client.request(method, path, { headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }),
    )
  }
  for (const plural of ['services', 'endpoints', 'endpointslices', 'events', 'nodes', 'servicecidrs'] as const) {
    await removeAll(plural, client)
  }
  return answers
}

async function removeAll(plural: Plural, client: ApiClient): Promise<void> {
  const { items } = await client.expect(200, 'GET', path(plural))
  for (const { metadata } of items as readonly { metadata: { name: string } }[]) {
    // The range of the server itself stays.
    if (metadata.name !== 'kubernetes') await client.expect(200, 'DELETE', path(plural, `/${metadata.name}`))
  }
}
