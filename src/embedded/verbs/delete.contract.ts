/** What clients may rely on when they delete. */
import { assert, describe, test } from 'vitest'
import { mergePatch, namesOf, service, slice } from '../testing/contract-api.ts'
import type { ContractApi } from '../testing/contract-api.ts'

export function deleteContract(api: ContractApi): void {
  describe('deleting', () => {
    test('removes the object', async () => {
      const path = await api.servicesPath()
      await api.createServices(path, 'web')
      const deleted = await api.client.expect(200, 'DELETE', `${path}/web`)
      assert.equal(deleted.kind, 'Service')
      await api.client.expect(404, 'GET', `${path}/web`)
      const again = await api.client.expect(404, 'DELETE', `${path}/web`)
      assert.equal(again.reason, 'NotFound')
    })

    test('answers with a Status for kinds that do not return themselves', async () => {
      const path = `/apis/discovery.k8s.io/v1/namespaces/${await api.freshNamespace()}/endpointslices`
      const created = await api.client.expect(201, 'POST', path, slice('web', '10.1.0.1'))
      const deleted = await api.client.expect(200, 'DELETE', `${path}/web`)
      const { uid } = created.metadata
      const details = { name: 'web', group: 'discovery.k8s.io', kind: 'endpointslices', uid }
      assert.deepEqual([deleted.status, deleted.details], ['Success', details])
    })

    test('heeds preconditions', async () => {
      const path = await api.servicesPath()
      const [created] = await api.createServices(path, 'web')
      const options = (preconditions: object) => ({ kind: 'DeleteOptions', apiVersion: 'v1', preconditions })
      const other = await api.client.expect(409, 'DELETE', `${path}/web`, options({ uid: 'other' }))
      assert.equal(other.reason, 'Conflict')
      await api.client.expect(409, 'DELETE', `${path}/web`, options({ resourceVersion: '1' }))
      await api.client.expect(200, 'DELETE', `${path}/web`, options({ uid: created?.metadata.uid }))
    })

    test('leaves everything when it is a dry run', async () => {
      const path = await api.servicesPath()
      const [created] = await api.createServices(path, 'web')
      const dry = await api.client.expect(200, 'DELETE', `${path}/web?dryRun=All`)
      assert.equal(dry.metadata.resourceVersion, created?.metadata.resourceVersion)
      const kept = await api.client.expect(200, 'GET', `${path}/web`)
      assert.notExists(kept.metadata.deletionTimestamp)
    })

    test('waits for finalizers', async () => {
      const path = await api.servicesPath()
      const held = { ...service('web'), metadata: { name: 'web', finalizers: ['example.com/hold'] } }
      await api.client.expect(201, 'POST', path, held)
      await api.client.expect(200, 'DELETE', `${path}/web`)
      const marked = await api.client.expect(200, 'GET', `${path}/web`)
      assert.isString(marked.metadata.deletionTimestamp)
      await api.client.patch(`${path}/web`, mergePatch, { metadata: { finalizers: null } })
      await api.client.expect(404, 'GET', `${path}/web`)
    })

    test('removes all that a selector matches', async () => {
      const path = await api.servicesPath()
      await api.client.expect(201, 'POST', path, service('a', { gone: 'yes' }))
      await api.client.expect(201, 'POST', path, service('b', { gone: 'yes' }))
      await api.createServices(path, 'c')
      await api.client.expect(200, 'DELETE', `${path}?labelSelector=gone%3Dyes`)
      assert.deepEqual(namesOf(await api.client.expect(200, 'GET', path)), ['c'])
    })

    test('refuses to delete the default namespace', async () => {
      const refused = await api.client.expect(403, 'DELETE', '/api/v1/namespaces/default')
      assert.equal(refused.reason, 'Forbidden')
    })
  })
}
