/**
 * What clients may rely on. It must hold on the embedded server and on a real kube-apiserver alike, so a test checks
 * what both promise: codes, reasons, events and their order, not the wording of every message.
 */
import { assert, afterAll, beforeAll, describe, test } from 'vitest'
import { ApiClient } from './testing/api-client.ts'
import type { JsonObject, SendRequest } from './testing/api-client.ts'

export interface ContractServer extends AsyncDisposable {
  readonly request: SendRequest
  /** Makes a resourceVersion too old for a watch and returns it; without it, those tests are skipped. */
  readonly expireRevision?: () => Promise<string>
  /**
   * Makes the server forget list snapshots up to now; without it, those tests are skipped. For a real server: a
   * compaction of etcd and a restart, because its cache remembers too.
   */
  readonly compact?: () => Promise<void>
}

const merge = 'application/merge-patch+json'
const strategic = 'application/strategic-merge-patch+json'
const jsonPatch = 'application/json-patch+json'
const apply = 'application/apply-patch+yaml'
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
const streaming = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'

export function apiServerContract(name: string, start: () => Promise<ContractServer>): void {
  describe(`API server: ${name}`, () => {
    let server: ContractServer
    let client: ApiClient
    let namespaces = 0

    beforeAll(async () => {
      server = await start()
      client = new ApiClient(server.request)
    })
    afterAll(async () => server[Symbol.asyncDispose]())

    /** Each test lives in a namespace of its own, so it may count objects. */
    async function freshNamespace(): Promise<string> {
      const namespace = `contract-${process.pid}-${++namespaces}`
      await client.expect(201, 'POST', '/api/v1/namespaces', {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: namespace },
      })
      return namespace
    }

    async function servicesPath(): Promise<string> {
      return `/api/v1/namespaces/${await freshNamespace()}/services`
    }

    async function createServices(path: string, ...names: string[]): Promise<JsonObject[]> {
      const created: JsonObject[] = []
      for (const one of names) created.push(await client.expect(201, 'POST', path, service(one)))
      return created
    }

    describe('creating', () => {
      test('fills in what the server owns', async () => {
        const path = await servicesPath()
        const created = await client.expect(201, 'POST', path, service('web'))
        assert.match(created.metadata.uid, /^[0-9a-f-]{36}$/)
        assert.match(created.metadata.creationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
        assert.match(created.metadata.resourceVersion, /^[1-9]\d*$/)
        assert.equal(created.spec.type, 'ClusterIP')
        assert.equal(created.spec.ports[0].protocol, 'TCP')
        assert.equal(created.spec.ports[0].targetPort, 80)
        assert.deepEqual(created.spec.clusterIPs, [created.spec.clusterIP])
        assert.deepEqual(await client.expect(200, 'GET', `${path}/web`), created)
      })

      test('makes a name from generateName', async () => {
        const path = await servicesPath()
        const object = { ...service(''), metadata: { generateName: 'web-' } }
        const first = await client.expect(201, 'POST', path, object)
        const second = await client.expect(201, 'POST', path, object)
        assert.match(first.metadata.name, /^web-[a-z0-9]{5}$/)
        assert.notEqual(first.metadata.name, second.metadata.name)
      })

      test('refuses a name that is taken', async () => {
        const path = await servicesPath()
        await createServices(path, 'web')
        const refused = await client.expect(409, 'POST', path, service('web'))
        assert.equal(refused.kind, 'Status')
        assert.equal(refused.reason, 'AlreadyExists')
        assert.equal(refused.message, 'services "web" already exists')
        assert.deepEqual(refused.details, { name: 'web', kind: 'services' })
      })

      test('refuses an object in a namespace that does not exist', async () => {
        const refused = await client.expect(404, 'POST', '/api/v1/namespaces/no-such/services', service('web'))
        assert.equal(refused.reason, 'NotFound')
        assert.equal(refused.message, 'namespaces "no-such" not found')
      })

      test('names every invalid field', async () => {
        const path = await servicesPath()
        const bad = { ...service('web'), spec: { ports: [{ port: 0 }], type: 'Nonsense' } }
        const refused = await client.expect(422, 'POST', path, bad)
        assert.equal(refused.reason, 'Invalid')
        assert.equal(refused.details.kind, 'Service')
        const fields = refused.details.causes.map((cause: JsonObject) => cause.field)
        assert.includeMembers(fields, ['spec.ports[0].port', 'spec.type'])
        assert.match(refused.message, /^Service "web" is invalid: \[/)
      })

      test('refuses a body of another kind', async () => {
        const path = await servicesPath()
        const refused = await client.expect(400, 'POST', path, { ...service('web'), kind: 'Node' })
        assert.equal(refused.reason, 'BadRequest')
      })

      test('refuses a body that is no JSON', async () => {
        const path = await servicesPath()
        assert.equal((await client.request('POST', path, { body: '{"half' })).status, 400)
      })

      test('takes YAML', async () => {
        const path = await servicesPath()
        const body = 'apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n  - port: 80\n'
        const answer = await client.request('POST', path, { body, headers: { 'content-type': 'application/yaml' } })
        assert.equal(answer.status, 201, answer.text)
      })

      test('refuses a media type it does not know', async () => {
        const path = await servicesPath()
        const answer = await client.request('POST', path, { body: 'x', headers: { 'content-type': 'text/plain' } })
        assert.equal(answer.status, 415)
        assert.equal(answer.json.reason, 'UnsupportedMediaType')
      })

      test('leaves nothing behind after a dry run', async () => {
        const path = await servicesPath()
        const dry = await client.expect(201, 'POST', `${path}?dryRun=All`, service('web'))
        assert.equal(dry.metadata.name, 'web')
        await client.expect(404, 'GET', `${path}/web`)
      })

      test('refuses an unknown field when asked to be strict', async () => {
        const path = await servicesPath()
        const typo = { ...service('web'), spec: { ports: [{ port: 80 }], selektor: {} } }
        const refused = await client.expect(400, 'POST', `${path}?fieldValidation=Strict`, typo)
        assert.include(refused.message, 'unknown field "spec.selektor"')
      })

      test('warns of an unknown field otherwise', async () => {
        const path = await servicesPath()
        const typo = { ...service('web'), spec: { ports: [{ port: 80 }], selektor: {} } }
        const answer = await client.request('POST', path, { body: typo })
        assert.equal(answer.status, 201)
        assert.match(answer.headers['warning'] ?? '', /^299 - "unknown field \\"spec\.selektor\\""/)
      })
    })

    describe('reading', () => {
      test('says what was not found', async () => {
        const path = await servicesPath()
        const refused = await client.expect(404, 'GET', `${path}/web`)
        assert.deepEqual(
          { status: refused.status, reason: refused.reason, code: refused.code, details: refused.details },
          { status: 'Failure', reason: 'NotFound', code: 404, details: { name: 'web', kind: 'services' } },
        )
        assert.equal(refused.message, 'services "web" not found')
      })

      test('names the group of a kind outside the core group', async () => {
        const path = `/apis/discovery.k8s.io/v1/namespaces/${await freshNamespace()}/endpointslices/web`
        const refused = await client.expect(404, 'GET', path)
        assert.equal(refused.message, 'endpointslices.discovery.k8s.io "web" not found')
        assert.equal(refused.details.group, 'discovery.k8s.io')
      })

      test('refuses a resource it does not have', async () => {
        const answer = await client.request('GET', '/apis/discovery.k8s.io/v1/nonsense')
        assert.equal(answer.status, 404)
      })

      test('refuses a method that makes no sense', async () => {
        const path = await servicesPath()
        const answer = await client.request('POST', `${path}/web`, { body: service('web') })
        assert.equal(answer.status, 405)
        assert.equal(answer.json.reason, 'MethodNotAllowed')
      })

      test('lists one namespace or all of them', async () => {
        const [one, other] = [await servicesPath(), await servicesPath()]
        await createServices(one, 'b', 'a')
        await createServices(other, 'c')
        const list = await client.expect(200, 'GET', one)
        assert.equal(list.kind, 'ServiceList')
        assert.deepEqual(namesOf(list), ['a', 'b'])
        assert.includeMembers(namesOf(await client.expect(200, 'GET', '/api/v1/services')), ['a', 'b', 'c'])
      })

      test('selects by labels', async () => {
        const path = await servicesPath()
        await client.expect(201, 'POST', path, service('a', { tier: 'front', env: 'test' }))
        await client.expect(201, 'POST', path, service('b', { tier: 'back' }))
        await client.expect(201, 'POST', path, service('c', { env: '' }))
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
          const list = await client.expect(200, 'GET', `${path}?labelSelector=${encodeURIComponent(selector)}`)
          assert.deepEqual(namesOf(list), names, selector)
        }
      })

      test('refuses a label selector it cannot read', async () => {
        const path = await servicesPath()
        const answer = await client.request('GET', `${path}?labelSelector=${encodeURIComponent('a in (')}`)
        assert.equal(answer.status, 400)
      })

      test('selects by fields', async () => {
        const path = await servicesPath()
        await createServices(path, 'a', 'b')
        await client.expect(201, 'POST', path, {
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
          const list = await client.expect(200, 'GET', `${path}?fieldSelector=${encodeURIComponent(selector)}`)
          assert.deepEqual(namesOf(list), names, selector)
        }
      })

      test('refuses a field selector for a field it cannot select by', async () => {
        const path = await servicesPath()
        const refused = await client.expect(400, 'GET', `${path}?fieldSelector=spec.nonsense=1`)
        assert.equal(refused.reason, 'BadRequest')
      })

      test('answers with a table', async () => {
        const path = await servicesPath()
        await createServices(path, 'a', 'b')
        const answer = await client.request('GET', path, { headers: { accept: table } })
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
        const full = await client.request('GET', `${path}/a?includeObject=Object`, { headers: { accept: table } })
        assert.equal(full.json.rows[0].object.spec.ports[0].port, 80)
        const bare = await client.request('GET', `${path}?includeObject=None`, { headers: { accept: table } })
        assert.notExists(bare.json.rows[0].object)
      })
    })

    describe('paging', () => {
      test('goes through a snapshot that later writes do not touch', async () => {
        const path = await servicesPath()
        await createServices(path, 'a', 'b', 'c', 'd', 'e')
        const first = await client.expect(200, 'GET', `${path}?limit=2`)
        assert.deepEqual(namesOf(first), ['a', 'b'])
        assert.equal(first.metadata.remainingItemCount, 3)
        await client.expect(200, 'DELETE', `${path}/d`)
        await createServices(path, 'bb')
        const second = await client.expect(200, 'GET', nextPage(path, 2, first))
        assert.deepEqual(namesOf(second), ['c', 'd'])
        assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion)
        const third = await client.expect(200, 'GET', nextPage(path, 2, second))
        assert.deepEqual(namesOf(third), ['e'])
        assert.notExists(third.metadata.continue)
      })

      test('fills pages with objects that are selected', async () => {
        const path = await servicesPath()
        for (const [index, one] of ['a', 'b', 'c', 'd', 'e'].entries())
          await client.expect(201, 'POST', path, service(one, { odd: String(index % 2) }))
        const selector = 'labelSelector=odd%3D0'
        const first = await client.expect(200, 'GET', `${path}?limit=2&${selector}`)
        assert.deepEqual(namesOf(first), ['a', 'c'])
        const second = await client.expect(200, 'GET', `${nextPage(path, 2, first)}&${selector}`)
        assert.deepEqual(namesOf(second), ['e'])
      })

      test('refuses a token that is none', async () => {
        const path = await servicesPath()
        const refused = await client.expect(400, 'GET', `${path}?limit=2&continue=nonsense`)
        assert.equal(refused.reason, 'BadRequest')
      })

      test('offers to go on without the snapshot when that is compacted', async (context) => {
        context.skip(server.compact === undefined, 'this server cannot be told to compact')
        const path = await servicesPath()
        await createServices(path, 'a', 'b', 'c')
        const first = await client.expect(200, 'GET', `${path}?limit=1`)
        await createServices(path, 'aa')
        await server.compact?.()
        const gone = await client.expect(410, 'GET', nextPage(path, 1, first))
        assert.equal(gone.reason, 'Expired')
        const rest = await client.expect(200, 'GET', nextPage(path, 10, gone))
        assert.deepEqual(namesOf(rest), ['aa', 'b', 'c'])
      })

      test('lists exactly at an older resourceVersion', async () => {
        const path = await servicesPath()
        await createServices(path, 'a')
        const before = await client.expect(200, 'GET', path)
        await createServices(path, 'b')
        const { resourceVersion } = before.metadata
        const exact = `resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`
        assert.deepEqual(namesOf(await client.expect(200, 'GET', `${path}?${exact}`)), ['a'])
        const newer = `resourceVersion=${resourceVersion}&resourceVersionMatch=NotOlderThan`
        assert.deepEqual(namesOf(await client.expect(200, 'GET', `${path}?${newer}`)), ['a', 'b'])
      })

      test('refuses list parameters that contradict each other', async () => {
        const path = await servicesPath()
        for (const query of [
          'resourceVersionMatch=Exact',
          'resourceVersionMatch=Nonsense&resourceVersion=1',
          'resourceVersionMatch=Exact&resourceVersion=0',
          'sendInitialEvents=true',
        ])
          assert.equal((await client.expect(422, 'GET', `${path}?${query}`)).reason, 'Invalid', query)
      })
    })

    describe('updating', () => {
      test('replaces the object and moves its resourceVersion', async () => {
        const path = await servicesPath()
        const [created] = await createServices(path, 'web')
        const labelled = { ...created, metadata: { ...created?.metadata, labels: { a: '1' } } }
        const updated = await client.expect(200, 'PUT', `${path}/web`, labelled)
        assert.deepEqual(updated.metadata.labels, { a: '1' })
        assert.notEqual(updated.metadata.resourceVersion, created?.metadata.resourceVersion)
        assert.equal(updated.metadata.uid, created?.metadata.uid)
      })

      test('keeps the resourceVersion when nothing changes', async () => {
        const path = await servicesPath()
        const [created] = await createServices(path, 'web')
        const same = await client.expect(200, 'PUT', `${path}/web`, created)
        assert.equal(same.metadata.resourceVersion, created?.metadata.resourceVersion)
      })

      test('refuses an update that rests on an older version', async () => {
        const path = await servicesPath()
        const [created] = await createServices(path, 'web')
        await client.patch(`${path}/web`, merge, { metadata: { labels: { by: 'someone' } } })
        const refused = await client.expect(409, 'PUT', `${path}/web`, created)
        assert.equal(refused.reason, 'Conflict')
        assert.match(refused.message, /^Operation cannot be fulfilled on services "web": the object has been modified/)
      })

      test('creates a Service that is not there', async () => {
        const path = await servicesPath()
        const created = await client.expect(201, 'PUT', `${path}/web`, service('web'))
        assert.match(created.metadata.uid, /^[0-9a-f-]{36}$/)
        const slices = path.replace('/api/v1', '/apis/discovery.k8s.io/v1').replace('services', 'endpointslices')
        const refused = await client.expect(404, 'PUT', `${slices}/web`, slice('web', '10.1.0.1'))
        assert.equal(refused.reason, 'NotFound')
      })

      test('refuses a name that differs from the URL', async () => {
        const path = await servicesPath()
        const [created] = await createServices(path, 'web')
        const renamed = { ...created, metadata: { ...created?.metadata, name: 'other' } }
        const refused = await client.expect(400, 'PUT', `${path}/web`, renamed)
        assert.equal(refused.reason, 'BadRequest')
      })

      test('lets a Service keep its cluster IP when the client leaves it out', async () => {
        const path = await servicesPath()
        const [created] = await createServices(path, 'web')
        const updated = await client.expect(200, 'PUT', `${path}/web`, service('web', { a: '1' }))
        assert.equal(updated.spec.clusterIP, created?.spec.clusterIP)
      })

      test('counts generations of what a controller looks at', async () => {
        const path = `/apis/discovery.k8s.io/v1/namespaces/${await freshNamespace()}/endpointslices`
        const created = await client.expect(201, 'POST', path, slice('web', '10.1.0.1'))
        const noted = await client.patch(`${path}/web`, merge, { metadata: { annotations: { a: '1' } } })
        const moved = await client.patch(`${path}/web`, merge, { endpoints: [{ addresses: ['10.1.0.2'] }] })
        assert.equal(created.metadata.generation, 1)
        assert.equal(noted.json.metadata.generation, 1)
        assert.equal(moved.json.metadata.generation, 2)
        const labelled = await client.patch(`${path}/web`, merge, { metadata: { labels: { a: '1' } } })
        assert.equal(labelled.json.metadata.generation, 3)
      })

      test('keeps status and spec apart', async () => {
        const path = await servicesPath()
        const [created] = await createServices(path, 'web')
        const status = { loadBalancer: { ingress: [{ ip: '203.0.113.1' }] } }
        const balanced = { ...created, spec: { ...created?.spec, type: 'LoadBalancer' } }
        const typed = await client.expect(200, 'PUT', `${path}/web`, { ...balanced, status })
        assert.deepEqual(typed.status, { loadBalancer: {} })
        const onlyStatus = { ...typed, status, spec: { ...typed.spec, sessionAffinity: 'ClientIP' } }
        const updated = await client.expect(200, 'PUT', `${path}/web/status`, onlyStatus)
        assert.equal(updated.status.loadBalancer.ingress[0].ip, '203.0.113.1')
        assert.equal(updated.spec.sessionAffinity, 'None')
        const patched = await client.patch(`${path}/web/status`, merge, { status: { loadBalancer: null } })
        assert.notExists(patched.json.status.loadBalancer?.ingress)
      })
    })

    describe('patching', () => {
      test('merges', async () => {
        const path = await servicesPath()
        await client.expect(201, 'POST', path, service('web', { a: '1', b: '2' }))
        const answer = await client.patch(`${path}/web`, merge, { metadata: { labels: { a: null, c: '3' } } })
        assert.equal(answer.status, 200, answer.text)
        assert.deepEqual(answer.json.metadata.labels, { b: '2', c: '3' })
      })

      test('merges lists by their key when the patch is strategic', async () => {
        const path = await servicesPath()
        const spec = { ports: [{ name: 'http', port: 80 }] }
        await client.expect(201, 'POST', path, { ...service('web'), spec })
        const answer = await client.patch(`${path}/web`, strategic, { spec: { ports: [{ name: 'https', port: 443 }] } })
        assert.equal(answer.status, 200, answer.text)
        const ports = answer.json.spec.ports.map((port: JsonObject) => port.port).toSorted()
        assert.deepEqual(ports, [443, 80])
      })

      test('follows a JSON patch, and refuses it as a whole when a test fails', async () => {
        const path = await servicesPath()
        await client.expect(201, 'POST', path, service('web', { a: '1' }))
        const replaced = await client.patch(`${path}/web`, jsonPatch, [
          { op: 'test', path: '/metadata/labels/a', value: '1' },
          { op: 'replace', path: '/metadata/labels/a', value: '2' },
        ])
        assert.equal(replaced.json.metadata.labels.a, '2')
        const refused = await client.patch(`${path}/web`, jsonPatch, [
          { op: 'replace', path: '/metadata/labels/a', value: '3' },
          { op: 'test', path: '/metadata/labels/a', value: 'other' },
        ])
        assert.equal(refused.status, 422, refused.text)
        const kept = await client.expect(200, 'GET', `${path}/web`)
        assert.equal(kept.metadata.labels.a, '2')
      })

      test('refuses a patch that names an older version', async () => {
        const path = await servicesPath()
        const [created] = await createServices(path, 'web')
        const { resourceVersion } = created?.metadata ?? {}
        await client.patch(`${path}/web`, merge, { metadata: { labels: { a: '1' } } })
        const late = await client.patch(`${path}/web`, merge, { metadata: { resourceVersion, labels: { a: '2' } } })
        assert.equal(late.status, 409)
      })

      test('of an object that is not there is refused, but applying creates it', async () => {
        const path = await servicesPath()
        assert.equal((await client.patch(`${path}/web`, merge, {})).status, 404)
        const body = 'apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  ports: [{port: 80}]\n'
        const created = await client.patch(`${path}/web?fieldManager=me`, apply, body)
        assert.equal(created.status, 201, created.text)
        const again = await client.patch(`${path}/web?fieldManager=me`, apply, body)
        assert.equal(again.status, 200)
        assert.equal(again.json.metadata.resourceVersion, created.json.metadata.resourceVersion)
      })

      test('by apply conflicts with the value of another manager until it is forced', async () => {
        const path = await servicesPath()
        const config = (value: string) => ({ ...service('web', { a: value }) })
        await client.patch(`${path}/web?fieldManager=one`, apply, config('1'))
        const refused = await client.patch(`${path}/web?fieldManager=two`, apply, config('2'))
        assert.equal(refused.status, 409)
        assert.equal(refused.json.reason, 'Conflict')
        assert.equal(refused.json.details.causes[0].reason, 'FieldManagerConflict')
        const forced = await client.patch(`${path}/web?fieldManager=two&force=true`, apply, config('2'))
        assert.equal(forced.json.metadata.labels.a, '2')
      })

      test('refuses a patch format it does not know', async () => {
        const path = await servicesPath()
        await createServices(path, 'web')
        assert.equal((await client.patch(`${path}/web`, 'application/json', {})).status, 415)
      })
    })

    describe('deleting', () => {
      test('removes the object', async () => {
        const path = await servicesPath()
        await createServices(path, 'web')
        const deleted = await client.expect(200, 'DELETE', `${path}/web`)
        assert.equal(deleted.kind, 'Service')
        await client.expect(404, 'GET', `${path}/web`)
        const again = await client.expect(404, 'DELETE', `${path}/web`)
        assert.equal(again.reason, 'NotFound')
      })

      test('answers with a Status for kinds that do not return themselves', async () => {
        const path = `/apis/discovery.k8s.io/v1/namespaces/${await freshNamespace()}/endpointslices`
        const created = await client.expect(201, 'POST', path, slice('web', '10.1.0.1'))
        const deleted = await client.expect(200, 'DELETE', `${path}/web`)
        const { uid } = created.metadata
        const details = { name: 'web', group: 'discovery.k8s.io', kind: 'endpointslices', uid }
        assert.deepEqual([deleted.status, deleted.details], ['Success', details])
      })

      test('heeds preconditions', async () => {
        const path = await servicesPath()
        const [created] = await createServices(path, 'web')
        const options = (preconditions: object) => ({ kind: 'DeleteOptions', apiVersion: 'v1', preconditions })
        const other = await client.expect(409, 'DELETE', `${path}/web`, options({ uid: 'other' }))
        assert.equal(other.reason, 'Conflict')
        await client.expect(409, 'DELETE', `${path}/web`, options({ resourceVersion: '1' }))
        await client.expect(200, 'DELETE', `${path}/web`, options({ uid: created?.metadata.uid }))
      })

      test('leaves everything when it is a dry run', async () => {
        const path = await servicesPath()
        await createServices(path, 'web')
        await client.expect(200, 'DELETE', `${path}/web?dryRun=All`)
        const kept = await client.expect(200, 'GET', `${path}/web`)
        assert.notExists(kept.metadata.deletionTimestamp)
      })

      test('waits for finalizers', async () => {
        const path = await servicesPath()
        const held = { ...service('web'), metadata: { name: 'web', finalizers: ['example.com/hold'] } }
        await client.expect(201, 'POST', path, held)
        await client.expect(200, 'DELETE', `${path}/web`)
        const marked = await client.expect(200, 'GET', `${path}/web`)
        assert.isString(marked.metadata.deletionTimestamp)
        await client.patch(`${path}/web`, merge, { metadata: { finalizers: null } })
        await client.expect(404, 'GET', `${path}/web`)
      })

      test('removes all that a selector matches', async () => {
        const path = await servicesPath()
        await client.expect(201, 'POST', path, service('a', { gone: 'yes' }))
        await client.expect(201, 'POST', path, service('b', { gone: 'yes' }))
        await createServices(path, 'c')
        await client.expect(200, 'DELETE', `${path}?labelSelector=gone%3Dyes`)
        assert.deepEqual(namesOf(await client.expect(200, 'GET', path)), ['c'])
      })

      test('refuses to delete the default namespace', async () => {
        const refused = await client.expect(403, 'DELETE', '/api/v1/namespaces/default')
        assert.equal(refused.reason, 'Forbidden')
      })
    })

    describe('watching', () => {
      test('tells every change since the list, once and in order', async () => {
        const path = await servicesPath()
        await createServices(path, 'before')
        const list = await client.expect(200, 'GET', path)
        await createServices(path, 'a')
        await using watch = await client.watch(`${path}?watch=true&resourceVersion=${list.metadata.resourceVersion}`)
        assert.equal(watch.status, 200)
        await client.patch(`${path}/a`, merge, { metadata: { labels: { a: '1' } } })
        await client.expect(200, 'DELETE', `${path}/a`)
        const events = await watch.take(3)
        assert.deepEqual(storyOf(events), ['ADDED a', 'MODIFIED a', 'DELETED a'])
        const versions = events.map(({ object }) => Number(object.metadata.resourceVersion))
        assert.isTrue(versions.every((version, index) => index === 0 || version > (versions[index - 1] ?? 0)))
        assert.equal(events[2]?.object.metadata.labels.a, '1')
        assert.deepEqual([events[0]?.object.kind, events[0]?.object.apiVersion], ['Service', 'v1'])
      })

      test('begins with what is there when no version is named', async () => {
        const path = await servicesPath()
        await createServices(path, 'a', 'b')
        for (const query of ['watch=true', 'watch=1&resourceVersion=0']) {
          await using watch = await client.watch(`${path}?${query}`)
          assert.sameMembers(storyOf(await watch.take(2)), ['ADDED a', 'ADDED b'], query)
        }
      })

      test('streams a list, marks its end and goes on', async () => {
        const path = await servicesPath()
        const created = await createServices(path, 'a', 'b')
        await using watch = await client.watch(`${path}?${streaming}`)
        const initial = await watch.until(({ type }) => type === 'BOOKMARK')
        assert.sameMembers(storyOf(initial.slice(0, -1)), ['ADDED a', 'ADDED b'])
        const bookmark = initial.at(-1)?.object
        assert.equal(bookmark?.kind, 'Service')
        assert.deepEqual(bookmark?.metadata.annotations, { 'k8s.io/initial-events-end': 'true' })
        assert.isAtLeast(Number(bookmark?.metadata.resourceVersion), Number(created.at(-1)?.metadata.resourceVersion))
        await createServices(path, 'c')
        const next = await watch.until(({ type }) => type !== 'BOOKMARK')
        assert.deepEqual(storyOf(next.slice(-1)), ['ADDED c'])
      })

      test('refuses watch parameters that contradict each other', async () => {
        const path = await servicesPath()
        for (const query of [
          'sendInitialEvents=true',
          'sendInitialEvents=true&resourceVersionMatch=Exact',
          'resourceVersionMatch=NotOlderThan',
        ]) {
          const refused = await client.expect(422, 'GET', `${path}?watch=true&allowWatchBookmarks=true&${query}`)
          assert.equal(refused.reason, 'Invalid', query)
        }
      })

      test('tells an object that begins or ceases to match as added or deleted', async () => {
        const path = await servicesPath()
        const list = await client.expect(200, 'GET', path)
        const selector = encodeURIComponent('!hidden')
        const query = `watch=true&resourceVersion=${list.metadata.resourceVersion}&labelSelector=${selector}`
        await using watch = await client.watch(`${path}?${query}`)
        await createServices(path, 'web')
        await client.patch(`${path}/web`, merge, { metadata: { labels: { hidden: '' } } })
        await client.patch(`${path}/web`, merge, { metadata: { labels: { other: '1' } } })
        const shown = await client.patch(`${path}/web`, merge, { metadata: { labels: { hidden: null } } })
        await client.patch(`${path}/web`, merge, { metadata: { labels: { other: '2' } } })
        const events = await watch.take(4)
        assert.deepEqual(storyOf(events), ['ADDED web', 'DELETED web', 'ADDED web', 'MODIFIED web'])
        assert.notExists(events[1]?.object.metadata.labels?.hidden)
        assert.equal(events[2]?.object.metadata.resourceVersion, shown.json.metadata.resourceVersion)
      })

      test('of one name tells nothing of others', async () => {
        const path = await servicesPath()
        const list = await client.expect(200, 'GET', path)
        const query = `watch=true&resourceVersion=${list.metadata.resourceVersion}&fieldSelector=metadata.name%3Db`
        await using watch = await client.watch(`${path}?${query}`)
        await createServices(path, 'a', 'b')
        assert.deepEqual(storyOf(await watch.take(1)), ['ADDED b'])
      })

      test('ends when its time is up', async () => {
        const path = await servicesPath()
        await createServices(path, 'a')
        await using watch = await client.watch(`${path}?watch=true&timeoutSeconds=1`)
        assert.deepEqual(storyOf(await watch.rest()), ['ADDED a'])
      })

      test('tells tables, with the columns in the first one only', async () => {
        const path = await servicesPath()
        await createServices(path, 'a', 'b')
        await using watch = await client.watch(`${path}?watch=true`, { accept: table })
        const [first, second] = await watch.take(2)
        assert.equal(first?.object.kind, 'Table')
        assert.isAbove(first?.object.columnDefinitions.length, 3)
        assert.equal(first?.object.rows[0].object.kind, 'PartialObjectMetadata')
        assert.notExists(second?.object.columnDefinitions)
        assert.equal(second?.object.rows.length, 1)
      })

      test('says in the stream that a version is too old', async (context) => {
        context.skip(server.expireRevision === undefined, 'this server cannot be told to forget')
        const path = await servicesPath()
        const revision = await server.expireRevision?.()
        await using watch = await client.watch(`${path}?watch=true&resourceVersion=${revision}`)
        assert.equal(watch.status, 200)
        const events = await watch.rest()
        assert.deepEqual(
          events.map(({ type, object }) => [type, object.kind, object.code, object.reason]),
          [['ERROR', 'Status', 410, 'Expired']],
        )
      })
    })

    describe('discovery', () => {
      test('names the kinds, in the old form and in the new', async () => {
        const core = await client.expect(200, 'GET', '/api/v1')
        const named = (list: JsonObject) => list.resources.map((resource: JsonObject) => resource.name)
        assert.includeMembers(named(core), [
          'namespaces',
          'nodes',
          'services',
          'services/status',
          'endpoints',
          'events',
        ])
        const groups = await client.expect(200, 'GET', '/apis')
        assert.include(
          groups.groups.map((group: JsonObject) => group.name),
          'discovery.k8s.io',
        )
        const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'
        const answer = await client.request('GET', '/apis', { headers: { accept } })
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
        assert.match((await client.expect(200, 'GET', '/version')).gitVersion, /^v1\.\d+/)
        for (const path of ['/healthz', '/livez', '/readyz']) {
          const answer = await client.request('GET', path)
          assert.deepEqual([answer.status, answer.text], [200, 'ok'], path)
        }
      })

      test('has the Service through which pods reach it', async () => {
        const kubernetes = await client.expect(200, 'GET', '/api/v1/namespaces/default/services/kubernetes')
        assert.equal(kubernetes.spec.ports[0].port, 443)
      })
    })
  })
}

function service(name: string, labels?: Readonly<Record<string, string>>): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, ...(labels === undefined ? {} : { labels }) },
    spec: { ports: [{ port: 80 }] },
  }
}

function slice(name: string, address: string): JsonObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address] }],
    ports: [{ name: 'http', port: 80 }],
  }
}

function namesOf(list: JsonObject): string[] {
  return list.items.map((item: JsonObject) => item.metadata.name)
}

function nextPage(path: string, limit: number, page: JsonObject): string {
  return `${path}?limit=${limit}&continue=${encodeURIComponent(page.metadata.continue)}`
}

function storyOf(events: readonly { readonly type: string; readonly object: JsonObject }[]): string[] {
  return events.map(({ type, object }) => `${type} ${object.metadata.name}`)
}
