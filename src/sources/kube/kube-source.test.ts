import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { loadKubeAccess } from './access/kube-access.ts'
import { KubeClient } from './kube-client.ts'
import { kubeErrorReasons } from './kube-error.ts'
import { KubeSource } from './kube-source.ts'
import { eventually } from './testing/eventually.ts'
import { FaultServer } from './testing/fault-server.ts'
import { bookmark, RecordingSink, thing } from './testing/recording-sink.ts'

const never = new AbortController().signal

async function rig() {
  const server = await FaultServer.start()
  const sinks = {
    Node: new RecordingSink(),
    Service: new RecordingSink(),
    EndpointSlice: new RecordingSink(),
    ServiceCIDR: new RecordingSink(),
  }
  const client = new KubeClient({ access: await loadKubeAccess({ master: server.url }), version: '1' })
  return { server, sinks, client, source: new KubeSource({ client, nodeName: 'node-1', sinks }) }
}

test('the four kinds are asked for with exactly the selectors of kube-proxy', async () => {
  const { server, source, client } = await rig()
  const stop = new AbortController()
  const running = source.run(stop.signal)
  server.otherwise((exchange) => void exchange.open())
  await eventually('four requests', () => server.received.length === 4)
  const asked = server.received.map(({ url: { pathname, searchParams } }) => ({
    pathname,
    labelSelector: searchParams.get('labelSelector'),
    fieldSelector: searchParams.get('fieldSelector'),
  }))
  expect(asked.sort((a, b) => (a.pathname < b.pathname ? -1 : 1))).toEqual([
    { pathname: '/api/v1/nodes', labelSelector: null, fieldSelector: 'metadata.name=node-1' },
    {
      pathname: '/api/v1/services',
      labelSelector: '!service.kubernetes.io/service-proxy-name',
      fieldSelector: 'spec.clusterIP!=None',
    },
    {
      pathname: '/apis/discovery.k8s.io/v1/endpointslices',
      labelSelector: '!service.kubernetes.io/headless',
      fieldSelector: null,
    },
    { pathname: '/apis/networking.k8s.io/v1/servicecidrs', labelSelector: null, fieldSelector: null },
  ])
  stop.abort()
  await running
  await client[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

test('each kind goes to its sink, and one that is refused or absent does not hold up the others', async () => {
  const { server, sinks, source, client } = await rig()
  const stop = new AbortController()
  server.otherwise((exchange) => {
    const { pathname } = exchange.request.url
    if (pathname.endsWith('/servicecidrs')) return exchange.text(404, '404 page not found')
    if (pathname.endsWith('/nodes')) return exchange.status(403, 'Forbidden')
    exchange.open().event('ADDED', thing(pathname.split('/').at(-1) ?? '', 3))
    exchange.event('BOOKMARK', bookmark(4, true))
  })
  const running = source.run(stop.signal)
  await eventually(
    'all that can sync',
    () => [...source.status().values()].filter((kind) => kind.hasSynced).length === 3,
  )
  await eventually('the refusal', () => source.status().get('Node')?.errors !== 0)
  expect(Object.entries(sinks).map(([kind, sink]) => [kind, sink.diary])).toEqual([
    ['Node', ['forbidden']],
    ['Service', ['replace services@3']],
    ['EndpointSlice', ['replace endpointslices@3']],
    ['ServiceCIDR', ['replace']],
  ])
  expect(source.status().get('Node')).toMatchObject({
    hasSynced: false,
    lastError: expect.stringContaining('403') as string,
  })
  stop.abort()
  await running
  await client[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

test('a bug in one sink stops the others and comes out', async () => {
  const { server, sinks, source, client } = await rig()
  server.otherwise((exchange) => void exchange.open().event('BOOKMARK', bookmark(4, true)))
  sinks.Service.replace = () => {
    throw new TypeError('broken sink')
  }
  await expect(source.run(never)).rejects.toThrow('broken sink')
  await client[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

test('the documentation explains each reason of a KubeError, and no other', async () => {
  const page = await readFile(new URL('../../../docs/kubernetes-source.md', import.meta.url), 'utf8')
  const explained = [...page.matchAll(/^\| `([a-z-]+)` +\|/gm)].map(([, reason]) => reason)
  expect(explained).toEqual([...kubeErrorReasons])
})
