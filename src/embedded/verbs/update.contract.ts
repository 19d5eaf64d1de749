/** What clients may rely on when they update and patch. */
import { assert, describe, test } from 'vitest'
import type { JsonObject } from '../testing/api-client.ts'
import { applyPatch, jsonPatch, mergePatch, service, slice, strategicMergePatch } from '../testing/contract-api.ts'
import type { ContractApi } from '../testing/contract-api.ts'

export function updateContract(api: ContractApi): void {
  describe('updating', () => {
    test('replaces the object and moves its resourceVersion', async () => {
      const path = await api.servicesPath()
      const [created] = await api.createServices(path, 'web')
      const labelled = { ...created, metadata: { ...created?.metadata, labels: { a: '1' } } }
      const updated = await api.client.expect(200, 'PUT', `${path}/web`, labelled)
      assert.deepEqual(updated.metadata.labels, { a: '1' })
      assert.notEqual(updated.metadata.resourceVersion, created?.metadata.resourceVersion)
      assert.equal(updated.metadata.uid, created?.metadata.uid)
    })

    test('keeps the resourceVersion when nothing changes', async () => {
      const path = await api.servicesPath()
      const [created] = await api.createServices(path, 'web')
      const same = await api.client.expect(200, 'PUT', `${path}/web`, created)
      assert.equal(same.metadata.resourceVersion, created?.metadata.resourceVersion)
    })

    test('refuses an update that rests on an older version', async () => {
      const path = await api.servicesPath()
      const [created] = await api.createServices(path, 'web')
      await api.client.patch(`${path}/web`, mergePatch, { metadata: { labels: { by: 'someone' } } })
      const refused = await api.client.expect(409, 'PUT', `${path}/web`, created)
      assert.equal(refused.reason, 'Conflict')
      assert.match(refused.message, /^Operation cannot be fulfilled on services "web": the object has been modified/)
    })

    test('creates a Service that is not there', async () => {
      const path = await api.servicesPath()
      const created = await api.client.expect(201, 'PUT', `${path}/web`, service('web'))
      assert.match(created.metadata.uid, /^[0-9a-f-]{36}$/)
      const slices = path.replace('/api/v1', '/apis/discovery.k8s.io/v1').replace('services', 'endpointslices')
      const refused = await api.client.expect(404, 'PUT', `${slices}/web`, slice('web', '10.1.0.1'))
      assert.equal(refused.reason, 'NotFound')
    })

    test('refuses a name that differs from the URL', async () => {
      const path = await api.servicesPath()
      const [created] = await api.createServices(path, 'web')
      const renamed = { ...created, metadata: { ...created?.metadata, name: 'other' } }
      const refused = await api.client.expect(400, 'PUT', `${path}/web`, renamed)
      assert.equal(refused.reason, 'BadRequest')
    })

    test('lets a Service keep its cluster IP when the client leaves it out', async () => {
      const path = await api.servicesPath()
      const [created] = await api.createServices(path, 'web')
      const updated = await api.client.expect(200, 'PUT', `${path}/web`, service('web', { a: '1' }))
      assert.equal(updated.spec.clusterIP, created?.spec.clusterIP)
    })

    test('counts generations of what a controller looks at', async () => {
      const path = `/apis/discovery.k8s.io/v1/namespaces/${await api.freshNamespace()}/endpointslices`
      const created = await api.client.expect(201, 'POST', path, slice('web', '10.1.0.1'))
      const noted = await api.client.patch(`${path}/web`, mergePatch, { metadata: { annotations: { a: '1' } } })
      const moved = await api.client.patch(`${path}/web`, mergePatch, { endpoints: [{ addresses: ['10.1.0.2'] }] })
      assert.equal(created.metadata.generation, 1)
      assert.equal(noted.json.metadata.generation, 1)
      assert.equal(moved.json.metadata.generation, 2)
      const labelled = await api.client.patch(`${path}/web`, mergePatch, { metadata: { labels: { a: '1' } } })
      assert.equal(labelled.json.metadata.generation, 3)
    })

    test('keeps status and spec apart', async () => {
      const path = await api.servicesPath()
      const [created] = await api.createServices(path, 'web')
      const status = { loadBalancer: { ingress: [{ ip: '203.0.113.1' }] } }
      const balanced = { ...created, spec: { ...created?.spec, type: 'LoadBalancer' } }
      const typed = await api.client.expect(200, 'PUT', `${path}/web`, { ...balanced, status })
      assert.deepEqual(typed.status, { loadBalancer: {} })
      const onlyStatus = { ...typed, status, spec: { ...typed.spec, sessionAffinity: 'ClientIP' } }
      const updated = await api.client.expect(200, 'PUT', `${path}/web/status`, onlyStatus)
      assert.equal(updated.status.loadBalancer.ingress[0].ip, '203.0.113.1')
      assert.equal(updated.spec.sessionAffinity, 'None')
      const patched = await api.client.patch(`${path}/web/status`, mergePatch, { status: { loadBalancer: null } })
      assert.notExists(patched.json.status.loadBalancer?.ingress)
    })
  })

  describe('patching', () => {
    test('merges', async () => {
      const path = await api.servicesPath()
      await api.client.expect(201, 'POST', path, service('web', { a: '1', b: '2' }))
      const answer = await api.client.patch(`${path}/web`, mergePatch, { metadata: { labels: { a: null, c: '3' } } })
      assert.equal(answer.status, 200, answer.text)
      assert.deepEqual(answer.json.metadata.labels, { b: '2', c: '3' })
    })

    test('merges lists by their key when the patch is strategic', async () => {
      const path = await api.servicesPath()
      const spec = { ports: [{ name: 'http', port: 80 }] }
      await api.client.expect(201, 'POST', path, { ...service('web'), spec })
      const answer = await api.client.patch(`${path}/web`, strategicMergePatch, {
        spec: { ports: [{ name: 'https', port: 443 }] },
      })
      assert.equal(answer.status, 200, answer.text)
      const ports = answer.json.spec.ports.map((port: JsonObject) => port.port).toSorted()
      assert.deepEqual(ports, [443, 80])
    })

    test('follows a JSON patch, and refuses it as a whole when a test fails', async () => {
      const path = await api.servicesPath()
      await api.client.expect(201, 'POST', path, service('web', { a: '1' }))
      const replaced = await api.client.patch(`${path}/web`, jsonPatch, [
        { op: 'test', path: '/metadata/labels/a', value: '1' },
        { op: 'replace', path: '/metadata/labels/a', value: '2' },
      ])
      assert.equal(replaced.json.metadata.labels.a, '2')
      const refused = await api.client.patch(`${path}/web`, jsonPatch, [
        { op: 'replace', path: '/metadata/labels/a', value: '3' },
        { op: 'test', path: '/metadata/labels/a', value: 'other' },
      ])
      assert.equal(refused.status, 422, refused.text)
      const kept = await api.client.expect(200, 'GET', `${path}/web`)
      assert.equal(kept.metadata.labels.a, '2')
    })

    test('answers a dry run with the version that is there, so that a diff shows nothing but the change', async () => {
      const path = await api.servicesPath()
      const [web] = await api.createServices(path, 'web')
      const labels = { a: '1' }
      const patched = await api.client.patch(`${path}/web?dryRun=All`, mergePatch, { metadata: { labels } })
      const put = await api.client.expect(200, 'PUT', `${path}/web?dryRun=All`, service('web', labels))
      for (const { metadata } of [patched.json, put]) {
        assert.deepEqual(metadata.labels, labels)
        assert.equal(metadata.resourceVersion, web?.metadata.resourceVersion)
      }
      assert.deepEqual(await api.client.expect(200, 'GET', `${path}/web`), web)
    })

    test('counts the generation of a dry run as it would count that of the change', async () => {
      const path = `/apis/discovery.k8s.io/v1/namespaces/${await api.freshNamespace()}/endpointslices`
      const created = await api.client.expect(201, 'POST', path, slice('web', '10.0.0.1'))
      const changed = { ...slice('web', '10.0.0.2') }
      const dry = await api.client.expect(200, 'PUT', `${path}/web?dryRun=All`, changed)
      assert.equal(dry.metadata.resourceVersion, created.metadata.resourceVersion)
      assert.equal(dry.metadata.generation, created.metadata.generation + 1)
    })

    test('refuses a JSON patch of more than 10,000 operations', async () => {
      const path = await api.servicesPath()
      await api.client.expect(201, 'POST', path, service('web', { a: '1' }))
      const test = { op: 'test', path: '/metadata/labels/a', value: '1' }
      const most = await api.client.patch(
        `${path}/web`,
        jsonPatch,
        Array.from({ length: 10_000 }, () => test),
      )
      assert.equal(most.status, 200, most.text)
      const { status, json } = await api.client.patch(
        `${path}/web`,
        jsonPatch,
        Array.from({ length: 10_001 }, () => test),
      )
      assert.equal(status, 413)
      assert.equal(json.reason, 'RequestEntityTooLarge')
      assert.equal(
        json.message,
        'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
      )
    })

    test('refuses a JSON patch whose copies add up to more than 3 MiB', async () => {
      const path = await api.servicesPath()
      await api.client.expect(201, 'POST', path, service('web'))
      const doubling = Array.from({ length: 40 }, (_, round) => ({
        op: 'copy',
        from: '/metadata/annotations',
        path: `/metadata/annotations/a${round}`,
      }))
      const seed = { op: 'add', path: '/metadata/annotations', value: { seed: 'x'.repeat(100) } }
      const { status, json } = await api.client.patch(`${path}/web`, jsonPatch, [seed, ...doubling])
      assert.equal(status, 422)
      assert.equal(json.reason, 'Invalid')
    })

    test('refuses a patch that names an older version', async () => {
      const path = await api.servicesPath()
      const [created] = await api.createServices(path, 'web')
      const { resourceVersion } = created?.metadata ?? {}
      await api.client.patch(`${path}/web`, mergePatch, { metadata: { labels: { a: '1' } } })
      const late = await api.client.patch(`${path}/web`, mergePatch, {
        metadata: { resourceVersion, labels: { a: '2' } },
      })
      assert.equal(late.status, 409)
    })

    test('of an object that is not there is refused, but applying creates it', async () => {
      const path = await api.servicesPath()
      assert.equal((await api.client.patch(`${path}/web`, mergePatch, {})).status, 404)
      const body = 'apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  ports: [{port: 80}]\n'
      const created = await api.client.patch(`${path}/web?fieldManager=me`, applyPatch, body)
      assert.equal(created.status, 201, created.text)
      const again = await api.client.patch(`${path}/web?fieldManager=me`, applyPatch, body)
      assert.equal(again.status, 200)
      assert.equal(again.json.metadata.resourceVersion, created.json.metadata.resourceVersion)
    })

    test('by apply conflicts with the value of another manager until it is forced', async () => {
      const path = await api.servicesPath()
      const config = (value: string) => ({ ...service('web', { a: value }) })
      await api.client.patch(`${path}/web?fieldManager=one`, applyPatch, config('1'))
      const refused = await api.client.patch(`${path}/web?fieldManager=two`, applyPatch, config('2'))
      assert.equal(refused.status, 409)
      assert.equal(refused.json.reason, 'Conflict')
      assert.equal(refused.json.details.causes[0].reason, 'FieldManagerConflict')
      const forced = await api.client.patch(`${path}/web?fieldManager=two&force=true`, applyPatch, config('2'))
      assert.equal(forced.json.metadata.labels.a, '2')
    })

    test('refuses a patch format it does not know', async () => {
      const path = await api.servicesPath()
      await api.createServices(path, 'web')
      assert.equal((await api.client.patch(`${path}/web`, 'application/json', {})).status, 415)
    })
  })
}
