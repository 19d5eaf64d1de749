import { systemClock } from '../core/clock.ts'
import { silentLogger } from '../core/logger.ts'
import { apiServerContract } from './api-server.contract.ts'
import { startApiServer } from './api-server.ts'
import { allResources } from './resources/all-resources.ts'
import { fetchRequests } from './testing/api-client.ts'

apiServerContract('the embedded API server', async () => {
  const server = await startApiServer({ resources: allResources, clock: systemClock, log: silentLogger })
  return {
    request: fetchRequests(server.url),
    async expireRevision() {
      const { revision } = server
      // After one more change, the version before it is forgotten.
      await fetch(`${server.url}/api/v1/namespaces`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { generateName: 'later-' } }),
      })
      server.compact()
      return String(revision)
    },
    async compact() {
      server.compact()
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
})
