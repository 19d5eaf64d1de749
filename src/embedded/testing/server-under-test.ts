/** An embedded API server with a client, for one test. */
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import { startApiServer } from '../api-server.ts'
import type { ApiServer, ApiServerOptions } from '../api-server.ts'
import { allResources } from '../resources/all-resources.ts'
import { ApiClient, fetchRequests } from './api-client.ts'
import type { JsonObject } from './api-client.ts'

export interface ServerUnderTest extends AsyncDisposable {
  readonly server: ApiServer
  readonly client: ApiClient
}

export const servicesPath = '/api/v1/namespaces/default/services'

export async function serverUnderTest(options: Partial<ApiServerOptions> = {}): Promise<ServerUnderTest> {
  const server = await startApiServer({ resources: allResources, clock: systemClock, log: silentLogger, ...options })
  return {
    server,
    client: new ApiClient(fetchRequests(server.url)),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

export function serviceNamed(name: string, spec: object = {}): JsonObject {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } }
}
