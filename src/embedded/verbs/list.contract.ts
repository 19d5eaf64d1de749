/** What clients may rely on when they read. */
import { assert, describe, test } from 'vitest'
import type { JsonObject } from '../testing/api-client.ts'
import { namesOf, service, table } from '../testing/contract-api.ts'
import type { ContractApi } from '../testing/contract-api.ts'

export function listContract(api: ContractApi): void {
  describe('reading', () => {
    test('says what was not found', async () => {
      const path = await api.servicesPath()
      const refused = await api.client.expect(404, 'GET', `${path}/web`)
      assert.deepEqual(
        { status: refused.status, reason: refused.reason, code: refused.code, details: refused.details },
        { status: 'Failure', reason: 'NotFound', code: 404, details: { name: 'web', kind: 'services' } },
      )
      assert.equal(refused.message, 'services "web" not found')
    })

    test('names the group of a kind outside the core group', async () => {
      const path = `/apis/discovery.k8s.io/v1/namespaces/${await api.freshNamespace()}/endpointslices/web`
      const refused = await api.client.expect(404, 'GET', path)
      assert.equal(refused.message, 'endpointslices.discovery.k8s.io "web" not found')
      assert.equal(refused.details.group, 'discovery.k8s.io')
    })

    test('refuses a resource it does not have', async () => {
      const answer = await api.client.request('GET', '/apis/discovery.k8s.io/v1/nonsense')
      assert.equal(answer.status, 404)
    })

    test('refuses a method that makes no sense', async () => {
      const path = await api.servicesPath()
      const answer = await api.client.request('POST', `${path}/web`, { body: service('web') })
      assert.equal(answer.status, 405)
      assert.equal(answer.json.reason, 'MethodNotAllowed')
    })

    test('lists one namespace or all of them', async () => {
      const [one, other] = [await api.servicesPath(), await api.servicesPath()]
      await api.createServices(one, 'b', 'a')
      await api.createServices(other, 'c')
      const list = await api.client.expect(200, 'GET', one)
      assert.equal(list.kind, 'ServiceList')
      assert.deepEqual(namesOf(list), ['a', 'b'])
      assert.includeMembers(namesOf(await api.client.expect(200, 'GET', '/api/v1/services')), ['a', 'b', 'c'])
    })

    test('says what the objects of a list are once, not with each of them', async () => {
      const path = await api.servicesPath()
      await api.createServices(path, 'a')
      const list = await api.client.expect(200, 'GET', path)
      assert.deepEqual([list.kind, list.apiVersion], ['ServiceList', 'v1'])
      assert.doesNotHaveAnyKeys(list.items[0], ['kind', 'apiVersion'])
    })

    test('selects by labels', async () => {
      const path = await api.servicesPath()
      await api.client.expect(201, 'POST', path, service('a', { tier: 'front', env: 'test' }))
      await api.client.expect(201, 'POST', path, service('b', { tier: 'back' }))
      await api.client.expect(201, 'POST', path, service('c', { env: '' }))
      const cases: readonly [selector: string, names: string[]][] = [
        ['tier=front', ['a']],
        ['tier==back', ['b']],
        ['tier!=front', ['b', 'c']],
        ['tier in (front,back)', ['a', 'b']],
        ['tier notin (front)', ['b', 'c']],
        ['env', ['a', 'c']],
        ['!env', ['b']],
        ['env=', ['c']],
        ['tier,!env', ['b']],
      ]
      for (const [selector, names] of cases) {
        const list = await api.client.expect(200, 'GET', `${path}?labelSelector=${encodeURIComponent(selector)}`)
        assert.deepEqual(namesOf(list), names, selector)
      }
    })

    test('refuses a label selector it cannot read', async () => {
      const path = await api.servicesPath()
      const answer = await api.client.request('GET', `${path}?labelSelector=${encodeURIComponent('a in (')}`)
      assert.equal(answer.status, 400)
    })

    test('selects by fields', async () => {
      const path = await api.servicesPath()
      await api.createServices(path, 'a', 'b')
      await api.client.expect(201, 'POST', path, {
        ...service('none'),
        spec: { clusterIP: 'None', ports: [{ port: 80 }] },
      })
      const cases: readonly [selector: string, names: string[]][] = [
        ['metadata.name=a', ['a']],
        ['metadata.name!=a', ['b', 'none']],
        ['spec.clusterIP=None', ['none']],
        ['spec.clusterIP!=None', ['a', 'b']],
        ['spec.clusterIP!=None,metadata.name==b', ['b']],
      ]
      for (const [selector, names] of cases) {
        const list = await api.client.expect(200, 'GET', `${path}?fieldSelector=${encodeURIComponent(selector)}`)
        assert.deepEqual(namesOf(list), names, selector)
      }
    })

    test('refuses a field selector for a field it cannot select by', async () => {
      const path = await api.servicesPath()
      const refused = await api.client.expect(400, 'GET', `${path}?fieldSelector=spec.nonsense=1`)
      assert.equal(refused.reason, 'BadRequest')
    })

    test('answers with a table', async () => {
      const path = await api.servicesPath()
      await api.createServices(path, 'a', 'b')
      const answer = await api.client.request('GET', path, { headers: { accept: table } })
      const { kind, apiVersion, columnDefinitions, rows, metadata } = answer.json
      assert.deepEqual([kind, apiVersion], ['Table', 'meta.k8s.io/v1'])
      assert.deepEqual(
        columnDefinitions.slice(0, 4).map((column: JsonObject) => column.name),
        ['Name', 'Type', 'Cluster-IP', 'External-IP'],
      )
      assert.deepEqual(
        rows.map((row: JsonObject) => [row.cells[0], row.cells[1], row.object.kind, row.object.metadata.name]),
        [
          ['a', 'ClusterIP', 'PartialObjectMetadata', 'a'],
          ['b', 'ClusterIP', 'PartialObjectMetadata', 'b'],
        ],
      )
      assert.match(metadata.resourceVersion, /^\d+$/)
      const full = await api.client.request('GET', `${path}/a?includeObject=Object`, { headers: { accept: table } })
      assert.equal(full.json.rows[0].object.spec.ports[0].port, 80)
      const bare = await api.client.request('GET', `${path}?includeObject=None`, { headers: { accept: table } })
      assert.notExists(bare.json.rows[0].object)
    })
  })

  describe('paging', () => {
    test('goes through a snapshot that later writes do not touch', async () => {
      const path = await api.servicesPath()
      await api.createServices(path, 'a', 'b', 'c', 'd', 'e')
      const first = await api.client.expect(200, 'GET', `${path}?limit=2`)
      assert.deepEqual(namesOf(first), ['a', 'b'])
      assert.equal(first.metadata.remainingItemCount, 3)
      await api.client.expect(200, 'DELETE', `${path}/d`)
      await api.createServices(path, 'bb')
      const second = await api.client.expect(200, 'GET', nextPage(path, 2, first))
      assert.deepEqual(namesOf(second), ['c', 'd'])
      assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion)
      const third = await api.client.expect(200, 'GET', nextPage(path, 2, second))
      assert.deepEqual(namesOf(third), ['e'])
      assert.notExists(third.metadata.continue)
    })

    test('fills pages with objects that are selected', async () => {
      const path = await api.servicesPath()
      for (const [index, one] of ['a', 'b', 'c', 'd', 'e'].entries())
        await api.client.expect(201, 'POST', path, service(one, { odd: String(index % 2) }))
      const selector = 'labelSelector=odd%3D0'
      const first = await api.client.expect(200, 'GET', `${path}?limit=2&${selector}`)
      assert.deepEqual(namesOf(first), ['a', 'c'])
      const second = await api.client.expect(200, 'GET', `${nextPage(path, 2, first)}&${selector}`)
      assert.deepEqual(namesOf(second), ['e'])
    })

    test('refuses a token that is none', async () => {
      const path = await api.servicesPath()
      const refused = await api.client.expect(400, 'GET', `${path}?limit=2&continue=nonsense`)
      assert.equal(refused.reason, 'BadRequest')
    })

    test('offers to go on without the snapshot when that is compacted', async (context) => {
      context.skip(api.server.compact === undefined, 'this server cannot be told to compact')
      const path = await api.servicesPath()
      await api.createServices(path, 'a', 'b', 'c')
      const first = await api.client.expect(200, 'GET', `${path}?limit=1`)
      await api.createServices(path, 'aa')
      await api.server.compact?.()
      const gone = await api.client.expect(410, 'GET', nextPage(path, 1, first))
      assert.equal(gone.reason, 'Expired')
      const rest = await api.client.expect(200, 'GET', nextPage(path, 10, gone))
      assert.deepEqual(namesOf(rest), ['aa', 'b', 'c'])
    })

    test('lists exactly at an older resourceVersion', async () => {
      const path = await api.servicesPath()
      await api.createServices(path, 'a')
      const before = await api.client.expect(200, 'GET', path)
      await api.createServices(path, 'b')
      const { resourceVersion } = before.metadata
      const exact = `resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`
      assert.deepEqual(namesOf(await api.client.expect(200, 'GET', `${path}?${exact}`)), ['a'])
      const newer = `resourceVersion=${resourceVersion}&resourceVersionMatch=NotOlderThan`
      assert.deepEqual(namesOf(await api.client.expect(200, 'GET', `${path}?${newer}`)), ['a', 'b'])
    })

    test('refuses list parameters that contradict each other', async () => {
      const path = await api.servicesPath()
      for (const query of [
        'resourceVersionMatch=Exact',
        'resourceVersionMatch=Nonsense&resourceVersion=1',
        'resourceVersionMatch=Exact&resourceVersion=0',
        'sendInitialEvents=true',
      ])
        assert.equal((await api.client.expect(422, 'GET', `${path}?${query}`)).reason, 'Invalid', query)
    })
  })
}

function nextPage(path: string, limit: number, page: JsonObject): string {
  return `${path}?limit=${limit}&continue=${encodeURIComponent(page.metadata.continue)}`
}
