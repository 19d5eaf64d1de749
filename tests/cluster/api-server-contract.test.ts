/** The contract that the embedded API server keeps is what the real one does. */
import { apiServerContract } from '../../src/embedded/api-server.contract.ts'
import { startControlPlane } from './testing/control-plane.ts'

apiServerContract('kube-apiserver', async () => {
  const cluster = await startControlPlane()
  /** A running server could still answer from its watch cache. */
  const compact = async () => {
    await cluster.etcd.compact()
    await cluster.stopApiServer()
    await cluster.startApiServer()
  }
  return {
    request: cluster.requests,
    compact,
    async expireRevision() {
      const { metadata } = await cluster.client.expect(200, 'GET', '/api/v1/namespaces')
      await cluster.client.expect(201, 'POST', '/api/v1/namespaces', { metadata: { generateName: 'later-' } })
      await compact()
      return String(metadata.resourceVersion)
    },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  }
})
