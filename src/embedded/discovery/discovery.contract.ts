/** What clients may rely on in discovery. */
import { assert, describe, test } from 'vitest'
import type { JsonObject } from '../testing/api-client.ts'
import type { ContractApi } from '../testing/contract-api.ts'

export function discoveryContract(api: ContractApi): void {
  describe('discovery', () => {
    test('names the kinds, in the old form and in the new', async () => {
      const core = await api.client.expect(200, 'GET', '/api/v1')
      const named = (list: JsonObject) => list.resources.map((resource: JsonObject) => resource.name)
      assert.includeMembers(named(core), ['namespaces', 'nodes', 'services', 'services/status', 'endpoints', 'events'])
      const groups = await api.client.expect(200, 'GET', '/apis')
      assert.include(
        groups.groups.map((group: JsonObject) => group.name),
        'discovery.k8s.io',
      )
      const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'
      const answer = await api.client.request('GET', '/apis', { headers: { accept } })
      assert.equal(answer.headers['content-type'], accept.split(',')[0])
      const slices = answer.json.items
        .find((group: JsonObject) => group.metadata.name === 'discovery.k8s.io')
        .versions[0].resources.find((resource: JsonObject) => resource.resource === 'endpointslices')
      assert.deepEqual(
        [slices.scope, slices.singularResource, slices.responseKind.kind],
        ['Namespaced', 'endpointslice', 'EndpointSlice'],
      )
      assert.includeMembers(slices.verbs, ['create', 'get', 'list', 'watch', 'patch', 'delete'])
    })

    test('tells its version and that it is well', async () => {
      assert.match((await api.client.expect(200, 'GET', '/version')).gitVersion, /^v1\.\d+/)
      for (const path of ['/healthz', '/livez', '/readyz']) {
        const answer = await api.client.request('GET', path)
        assert.deepEqual([answer.status, answer.text], [200, 'ok'], path)
      }
    })

    test('has the Service through which pods reach it', async () => {
      const kubernetes = await api.client.expect(200, 'GET', '/api/v1/namespaces/default/services/kubernetes')
      assert.equal(kubernetes.spec.ports[0].port, 443)
    })
  })
}
