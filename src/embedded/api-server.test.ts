import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { RecordingLogger } from '../core/testing/recording-logger.ts'
import { writeKubeconfig } from './kubeconfig-file.ts'
import { serverUnderTest, serviceNamed, servicesPath } from './testing/server-under-test.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fairlead-api-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

describe('where it listens', () => {
  test('is loopback unless other addresses are allowed', async () => {
    await expect(serverUnderTest({ host: '0.0.0.0' })).rejects.toMatchObject({ reason: 'address-not-allowed' })
    await expect(serverUnderTest({ host: 'example.com' })).rejects.toMatchObject({ reason: 'address-not-allowed' })
    await using open = await serverUnderTest({ host: '0.0.0.0', allowNonLoopback: true })
    expect(open.server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect((await open.client.request('GET', '/healthz')).text).toBe('ok')
  })

  test('may be IPv6', async () => {
    await using api = await serverUnderTest({ host: '::1' })
    expect(api.server.url).toMatch(/^http:\/\/\[::1\]:\d+$/)
    const slice = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes'
    expect((await api.client.expect(200, 'GET', slice)).addressType).toBe('IPv6')
  })

  test('is told when the port is taken, and the data directory is free again', async () => {
    await using first = await serverUnderTest()
    const port = Number(new URL(first.server.url).port)
    const error = await serverUnderTest({ port, dataDir: directory }).catch((refusal: unknown) => refusal)
    expect(error).toMatchObject({
      reason: 'port-in-use',
      message: `cannot listen on 127.0.0.1:${port}: the port is in use; choose another`,
    })
    await using _second = await serverUnderTest({ dataDir: directory })
  })
})

test('an outage: nobody reaches it, then all objects are there again, and a watch goes on from its version', async () => {
  await using api = await serverUnderTest()
  const { metadata } = await api.client.expect(201, 'POST', servicesPath, serviceNamed('before'))
  const { resourceVersion } = metadata as { resourceVersion: string }
  await using cut = await api.client.watch(`${servicesPath}?watch=true&resourceVersion=${resourceVersion}`)

  const outage = await api.server.outage()
  expect(await cut.rest().catch(() => [])).toEqual([])
  // The first would use a connection that was open before.
  for (const _attempt of [1, 2]) await expect(fetch(api.server.url)).rejects.toThrow('fetch failed')
  const { hostname, port } = new URL(api.server.url)
  const [refusal] = await once(connect(Number(port), hostname), 'error')
  expect(refusal).toMatchObject({ code: 'ECONNREFUSED' })

  await outage[Symbol.asyncDispose]()
  await using watch = await api.client.watch(`${servicesPath}?watch=true&resourceVersion=${resourceVersion}`)
  await api.client.expect(201, 'POST', servicesPath, serviceNamed('after'))
  expect((await watch.next())?.object['metadata'].name).toBe('after')
  expect((await api.client.expect(200, 'GET', `${servicesPath}/before`))['metadata'].uid).toBe(metadata.uid)
})

test('a server may end in the middle of an outage', async () => {
  const api = await serverUnderTest()
  await api.server.outage()
  await api.server[Symbol.asyncDispose]()
  await expect(fetch(api.server.url)).rejects.toThrow('fetch failed')
})

describe('web pages', () => {
  /** With fetch, a test cannot choose Host and Origin. */
  const statusFor = async (url: string, headers: Record<string, string>, method = 'GET') => {
    const [response] = (await once(httpRequest(url, { headers, method }).end(), 'response')) as [IncomingMessage]
    response.resume()
    return response.statusCode
  }

  test('of other sites get no answer, nor do names that only resolve to this machine', async () => {
    await using api = await serverUnderTest()
    const url = `${api.server.url}/api/v1/services`
    expect(await statusFor(url, { Host: 'localhost:1234' })).toBe(200)
    expect(await statusFor(url, { Host: '[::1]:1234' })).toBe(200)
    expect(await statusFor(url, { Origin: 'http://localhost:5173' })).toBe(200)
    expect(await statusFor(url, { Host: 'evil.example' })).toBe(403)
    expect(await statusFor(url, { Host: '127.0.0.1.evil.example' })).toBe(403)
    expect(await statusFor(url, { Origin: 'https://evil.example' })).toBe(403)
    expect(await statusFor(url, { Origin: 'null' })).toBe(403)
    expect(await statusFor(url, { 'Sec-Fetch-Site': 'cross-site' })).toBe(403)
    expect(await statusFor(url, { 'Sec-Fetch-Site': 'none' })).toBe(200)
  })

  test('change nothing, wherever they are from', async () => {
    await using api = await serverUnderTest()
    for (const origin of ['https://evil.example', 'http://localhost:5173', api.server.url])
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
        expect(await statusFor(`${api.server.url}${servicesPath}/kubernetes`, { Origin: origin }, method)).toBe(403)
    expect((await api.client.request('GET', `${servicesPath}/kubernetes`)).status).toBe(200)
  })

  test('get no answer on other addresses either, where any name is right', async () => {
    await using api = await serverUnderTest({ host: '0.0.0.0', allowNonLoopback: true })
    const url = `${api.server.url}/api/v1/services`
    expect(await statusFor(url, { Host: 'laptop.example' })).toBe(200)
    expect(await statusFor(url, { Origin: 'https://evil.example' })).toBe(403)
  })
})

describe('many clients', () => {
  test('that only hold on to their connections make room for others', async () => {
    await using api = await serverUnderTest({ maxConnections: 4 })
    const { port } = new URL(api.server.url)
    const held = Array.from({ length: 20 }, () => connect(Number(port), '127.0.0.1').on('error', () => {}))
    await Promise.all(held.map((socket) => once(socket, 'connect')))
    expect((await api.client.request('GET', servicesPath)).status).toBe(200)
    for (const socket of held) socket.destroy()
  })

  test('that watch leave half of the connections to others, and are told to come back', async () => {
    await using api = await serverUnderTest({ maxConnections: 4 })
    const path = `${servicesPath}?watch=true`
    await using first = await api.client.watch(path)
    await using second = await api.client.watch(path)
    expect([first.status, second.status]).toEqual([200, 200])
    const refused = await api.client.request('GET', path)
    expect([refused.status, refused.json['reason'], refused.headers['retry-after']]).toEqual([
      429,
      'TooManyRequests',
      '1',
    ])
    expect((await api.client.request('GET', servicesPath)).status).toBe(200)
    await first[Symbol.asyncDispose]()
    await vi.waitUntil(async () => {
      await using third = await api.client.watch(path)
      return third.status === 200
    })
  })
})

describe('a new server', () => {
  test('has what every cluster has', async () => {
    const log = new RecordingLogger()
    await using api = await serverUnderTest({ log })
    const names = async (path: string) =>
      (await api.client.expect(200, 'GET', path)).items.map(
        (item: { metadata: { name: string } }) => item.metadata.name,
      )
    expect(await names('/api/v1/namespaces')).toEqual(['default', 'kube-node-lease', 'kube-public', 'kube-system'])
    expect(await names('/apis/networking.k8s.io/v1/servicecidrs')).toEqual(['kubernetes'])
    const service = await api.client.expect(200, 'GET', `${servicesPath}/kubernetes`)
    expect(service.spec).toMatchObject({ clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443 }] })
    const port = Number(new URL(api.server.url).port)
    const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
    expect(await api.client.expect(200, 'GET', `${slices}/kubernetes`)).toMatchObject({
      endpoints: [{ addresses: ['127.0.0.1'] }],
      ports: [{ name: 'https', port }],
    })
    expect(log.at('warn')).toEqual([])
  })

  test('takes its ranges from the options', async () => {
    await using api = await serverUnderTest({ serviceCidrs: ['10.0.0.0/24'], nodePorts: { first: 40000, last: 40001 } })
    const spec = { type: 'NodePort' }
    const created = await api.client.expect(201, 'POST', servicesPath, serviceNamed('web', spec))
    expect(created.spec).toMatchObject({ clusterIP: expect.stringMatching(/^10\.0\.0\./) as string })
    expect(created.spec.ports[0].nodePort).toBeGreaterThanOrEqual(40000)
  })
})

describe('with a data directory', () => {
  test('objects, addresses and versions stay over a restart, and its own endpoint follows the port', async () => {
    let before: object
    let revision: number
    {
      await using api = await serverUnderTest({ dataDir: directory })
      before = await api.client.expect(201, 'POST', servicesPath, serviceNamed('web', { clusterIP: '10.96.0.50' }))
      revision = api.server.revision
    }
    await using api = await serverUnderTest({ dataDir: directory })
    expect(await api.client.expect(200, 'GET', `${servicesPath}/web`)).toEqual(before)
    const refused = await api.client.expect(422, 'POST', servicesPath, serviceNamed('b', { clusterIP: '10.96.0.50' }))
    expect(refused.message).toContain('provided IP is already allocated')
    const endpoints = await api.client.expect(200, 'GET', '/api/v1/namespaces/default/endpoints/kubernetes')
    expect(endpoints.subsets[0].ports[0].port).toBe(Number(new URL(api.server.url).port))
    await using watch = await api.client.watch(`${servicesPath}?watch=true&resourceVersion=${revision}`)
    await api.client.expect(201, 'POST', servicesPath, serviceNamed('later'))
    expect(await watch.next()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'later' } } })
  })

  test('concurrent writes all get an answer and revisions of their own', async () => {
    await using api = await serverUnderTest({ dataDir: directory })
    const names = Array.from({ length: 100 }, (_, index) => `s${index}`)
    const created = await Promise.all(
      names.map((name) => api.client.expect(201, 'POST', servicesPath, serviceNamed(name))),
    )
    expect(new Set(created.map(({ metadata }) => metadata.resourceVersion)).size).toBe(100)
    expect(new Set(created.map(({ spec }) => spec.clusterIP)).size).toBe(100)
  })
})

describe('namespaces', () => {
  const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })

  test('take their contents with them', async () => {
    await using api = await serverUnderTest()
    await api.client.expect(201, 'POST', '/api/v1/namespaces', namespace('shop'))
    const shop = '/api/v1/namespaces/shop/services'
    await api.client.expect(201, 'POST', shop, serviceNamed('web'))
    await using watch = await api.client.watch('/api/v1/services?watch=true&fieldSelector=metadata.name%3Dweb')
    await watch.next()
    await api.client.expect(200, 'DELETE', '/api/v1/namespaces/shop')
    expect(await watch.next()).toMatchObject({ type: 'DELETED', object: { metadata: { namespace: 'shop' } } })
    await api.client.expect(404, 'GET', '/api/v1/namespaces/shop')
    await api.client.expect(404, 'POST', shop, serviceNamed('web'))
  })

  test('wait, closed to new objects, for those that finalizers hold', async () => {
    await using api = await serverUnderTest()
    await api.client.expect(201, 'POST', '/api/v1/namespaces', namespace('shop'))
    const shop = '/api/v1/namespaces/shop/services'
    const held = serviceNamed('web')
    await api.client.expect(201, 'POST', shop, {
      ...held,
      metadata: { ...held.metadata, finalizers: ['example.com/hold'] },
    })
    const marked = await api.client.expect(200, 'DELETE', '/api/v1/namespaces/shop')
    expect(marked.status.phase).toBe('Terminating')
    const refused = await api.client.expect(403, 'POST', shop, serviceNamed('other'))
    expect(refused.details.causes[0].reason).toBe('NamespaceTerminating')
    await api.client.patch(`${shop}/web`, 'application/merge-patch+json', { metadata: { finalizers: null } })
    const gone = await api.client.request('GET', '/api/v1/namespaces/shop')
    expect(gone.status).toBe(404)
  })
})

test('a request body larger than a real server takes is refused', async () => {
  await using api = await serverUnderTest()
  const note = 'x'.repeat(4 * 1024 * 1024)
  const big = { ...serviceNamed('web'), metadata: { name: 'web', annotations: { note } } }
  const refused = await api.client.request('POST', servicesPath, { body: big })
  expect([refused.status, refused.json['reason']]).toEqual([413, 'RequestEntityTooLarge'])
})

test('many requests together cannot make an object larger than one request may be', async () => {
  await using api = await serverUnderTest()
  await api.client.expect(201, 'POST', servicesPath, serviceNamed('web'))
  const grow = async (round: number) => {
    const keys = Array.from({ length: 3000 }, (_, index) => `${'k'.repeat(200)}.${round}/${'k'.repeat(50)}${index}`)
    const labels = Object.fromEntries(keys.map((key) => [key, 'v'.repeat(60)]))
    const answer = await api.client.patch(`${servicesPath}/web`, 'application/merge-patch+json', {
      metadata: { labels },
    })
    return [answer.status, answer.json['message']]
  }
  expect((await grow(1))[0]).toBe(200)
  expect(await grow(2)).toEqual([413, 'Request entity too large: limit is 3145728'])
})

describe('the form of an answer', () => {
  test('is YAML for those who prefer it', async () => {
    await using api = await serverUnderTest()
    const answer = await api.client.request('GET', `${servicesPath}/kubernetes`, {
      headers: { accept: 'application/yaml' },
    })
    expect(answer.headers['content-type']).toBe('application/yaml')
    expect(parse(answer.text)).toMatchObject({ kind: 'Service', metadata: { name: 'kubernetes' } })
  })

  test('is JSON for a client that likes protobuf better but takes anything', async () => {
    await using api = await serverUnderTest()
    const accept = 'application/vnd.kubernetes.protobuf, */*'
    const answer = await api.client.request('GET', servicesPath, { headers: { accept } })
    expect(answer.json['kind']).toBe('ServiceList')
  })

  test('is refused when it can only be protobuf', async () => {
    await using api = await serverUnderTest()
    const accept = 'application/vnd.kubernetes.protobuf'
    const answer = await api.client.request('GET', servicesPath, { headers: { accept } })
    expect([answer.status, answer.json['reason']]).toEqual([406, 'NotAcceptable'])
  })

  test('can be the metadata alone', async () => {
    await using api = await serverUnderTest()
    const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'
    const { json } = await api.client.request('GET', servicesPath, { headers: { accept } })
    expect(json['kind']).toBe('PartialObjectMetadataList')
    expect(Object.keys(json['items'][0]).toSorted()).toEqual(['apiVersion', 'kind', 'metadata'])
  })
})

test('an event of one API is seen through the other', async () => {
  await using api = await serverUnderTest()
  await api.client.expect(201, 'POST', '/apis/events.k8s.io/v1/namespaces/default/events', {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { generateName: 'started-' },
    regarding: { kind: 'Node', name: 'here' },
    reason: 'Starting',
    type: 'Normal',
    action: 'StartProxy',
    note: 'it starts',
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'fairlead',
    reportingInstance: 'here',
  })
  const selector = 'fieldSelector=involvedObject.name%3Dhere'
  const list = await api.client.expect(200, 'GET', `/api/v1/namespaces/default/events?${selector}`)
  expect(list).toMatchObject({ apiVersion: 'v1', items: [{ message: 'it starts', involvedObject: { kind: 'Node' } }] })
})

test('a kubeconfig names the server and is for its owner only', async () => {
  const path = join(directory, 'deep', 'kubeconfig')
  await writeKubeconfig(path, 'http://127.0.0.1:1')
  await writeKubeconfig(path, 'http://127.0.0.1:2')
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(parse(await readFile(path, 'utf8'))).toMatchObject({
    clusters: [{ name: 'fairlead', cluster: { server: 'http://127.0.0.1:2' } }],
    'current-context': 'fairlead',
  })
})

test('a client that leaves in the middle of its body is no error of the server', async () => {
  const log = new RecordingLogger()
  await using api = await serverUnderTest({ log })
  const { hostname, port } = new URL(api.server.url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const head = `POST ${servicesPath} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n`
  socket.end(`${head}\r\n{"half":`)
  socket.resume()
  await once(socket, 'close')
  await api.client.expect(200, 'GET', servicesPath)
  expect(log.at('error')).toEqual([])
})

test('who asks what they may do is told: everything', async () => {
  await using api = await serverUnderTest()
  const { client } = api
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
  const spec = { resourceAttributes: { group: '', resource: 'services', verb: 'list' } }
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec }
  expect(await client.expect(201, 'POST', path, review)).toMatchObject({ kind: review.kind, status: { allowed: true } })
  await client.expect(405, 'GET', path)
})
