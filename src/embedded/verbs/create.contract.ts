/** What clients may rely on when they create. */
import { assert, describe, test } from 'vitest'
import type { JsonObject } from '../testing/api-client.ts'
import { service } from '../testing/contract-api.ts'
import type { ContractApi } from '../testing/contract-api.ts'

export function createContract(api: ContractApi): void {
  describe('creating', () => {
    test('fills in what the server owns', async () => {
      const path = await api.servicesPath()
      const created = await api.client.expect(201, 'POST', path, service('web'))
      assert.match(created.metadata.uid, /^[0-9a-f-]{36}$/)
      assert.match(created.metadata.creationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      assert.match(created.metadata.resourceVersion, /^[1-9]\d*$/)
      assert.equal(created.spec.type, 'ClusterIP')
      assert.equal(created.spec.ports[0].protocol, 'TCP')
      assert.equal(created.spec.ports[0].targetPort, 80)
      assert.deepEqual(created.spec.clusterIPs, [created.spec.clusterIP])
      assert.deepEqual(await api.client.expect(200, 'GET', `${path}/web`), created)
    })

    test('makes a name from generateName', async () => {
      const path = await api.servicesPath()
      const object = { ...service(''), metadata: { generateName: 'web-' } }
      const first = await api.client.expect(201, 'POST', path, object)
      const second = await api.client.expect(201, 'POST', path, object)
      assert.match(first.metadata.name, /^web-[a-z0-9]{5}$/)
      assert.notEqual(first.metadata.name, second.metadata.name)
    })

    test('refuses a name that is taken', async () => {
      const path = await api.servicesPath()
      await api.createServices(path, 'web')
      const refused = await api.client.expect(409, 'POST', path, service('web'))
      assert.equal(refused.kind, 'Status')
      assert.equal(refused.reason, 'AlreadyExists')
      assert.equal(refused.message, 'services "web" already exists')
      assert.deepEqual(refused.details, { name: 'web', kind: 'services' })
    })

    test('refuses an object in a namespace that does not exist', async () => {
      const refused = await api.client.expect(404, 'POST', '/api/v1/namespaces/no-such/services', service('web'))
      assert.equal(refused.reason, 'NotFound')
      assert.equal(refused.message, 'namespaces "no-such" not found')
    })

    test('names every invalid field', async () => {
      const path = await api.servicesPath()
      const bad = { ...service('web'), spec: { ports: [{ port: 0 }], type: 'Nonsense' } }
      const refused = await api.client.expect(422, 'POST', path, bad)
      assert.equal(refused.reason, 'Invalid')
      assert.equal(refused.details.kind, 'Service')
      const fields = refused.details.causes.map((cause: JsonObject) => cause.field)
      assert.includeMembers(fields, ['spec.ports[0].port', 'spec.type'])
      assert.match(refused.message, /^Service "web" is invalid: \[/)
    })

    test('refuses a body of another kind', async () => {
      const path = await api.servicesPath()
      const refused = await api.client.expect(400, 'POST', path, { ...service('web'), kind: 'Node' })
      assert.equal(refused.reason, 'BadRequest')
    })

    test('refuses a body that is no JSON', async () => {
      const path = await api.servicesPath()
      assert.equal((await api.client.request('POST', path, { body: '{"half' })).status, 400)
    })

    test('takes YAML', async () => {
      const path = await api.servicesPath()
      const body = 'apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n  - port: 80\n'
      const answer = await api.client.request('POST', path, { body, headers: { 'content-type': 'application/yaml' } })
      assert.equal(answer.status, 201, answer.text)
    })

    test('refuses a media type it does not know', async () => {
      const path = await api.servicesPath()
      const answer = await api.client.request('POST', path, { body: 'x', headers: { 'content-type': 'text/plain' } })
      assert.equal(answer.status, 415)
      assert.equal(answer.json.reason, 'UnsupportedMediaType')
    })

    test('leaves nothing behind after a dry run', async () => {
      const path = await api.servicesPath()
      const dry = await api.client.expect(201, 'POST', `${path}?dryRun=All`, service('web'))
      assert.equal(dry.metadata.name, 'web')
      // A dry run does not create a revision.
      assert.equal(dry.metadata.resourceVersion, undefined)
      await api.client.expect(404, 'GET', `${path}/web`)
    })

    test('refuses options that it does not know', async () => {
      const path = await api.servicesPath()
      for (const option of ['dryRun=Some', 'fieldValidation=Sometimes']) {
        const refused = await api.client.expect(422, 'POST', `${path}?${option}`, service('web'))
        assert.equal(refused.details.causes[0].field, option.split('=')[0])
      }
    })

    test('refuses an unknown field when asked to be strict', async () => {
      const path = await api.servicesPath()
      const typo = { ...service('web'), spec: { ports: [{ port: 80 }], selektor: {} } }
      const refused = await api.client.expect(400, 'POST', `${path}?fieldValidation=Strict`, typo)
      assert.include(refused.message, 'unknown field "spec.selektor"')
    })

    test('warns of an unknown field otherwise', async () => {
      const path = await api.servicesPath()
      const typo = { ...service('web'), spec: { ports: [{ port: 80 }], selektor: {} } }
      const answer = await api.client.request('POST', path, { body: typo })
      assert.equal(answer.status, 201)
      assert.match(answer.headers['warning'] ?? '', /^299 - "unknown field \\"spec\.selektor\\""/)
    })
  })
}
