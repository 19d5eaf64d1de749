import { expect, test } from 'vitest'
import { Catalog } from '../../core/catalog.ts'
import { silentLogger } from '../../core/logger.ts'
import { silentMetrics } from '../../core/proxy-metrics.ts'
import type { ChangeSet } from '../../kpng/client/change-set.ts'
import type { WatchClient } from '../../kpng/client/watch-client.ts'
import { Endpoint, Service, Set as Sets } from '../../kpng/proto/generated/localv1/api.ts'
import { sampleService } from '../../kpng/testing/cluster-samples.ts'
import type { Cidr } from '../../net/ip.ts'
import { Intake } from '../intake.ts'
import { RecordingLogger } from '../kube/testing/recording-logger.ts'
import { KpngLocalSource } from './local-source.ts'

/** A source, and what its server says. */
function following(serviceCidrs: readonly Cidr[] = []) {
  const [catalog, log] = [new Catalog(), new RecordingLogger()]
  const intake = new Intake({ catalog, log, metrics: silentMetrics })
  let tell: (changes: ChangeSet) => unknown = () => {}
  const follow: WatchClient['follow'] = (_watch, apply) => {
    tell = apply
    return Promise.resolve()
  }
  const client = { follow } as WatchClient
  const source = new KpngLocalSource({ client, nodeName: 'here', serviceCidrs, intake, log: silentLogger })
  void source.run(new AbortController().signal)
  return { catalog, log, tell: (isReset: boolean, sets: ChangeSet['sets']) => tell({ isReset, sets, deletes: [] }) }
}

function service(changes: Partial<Service>): ChangeSet['sets'][number] {
  const Bytes = Service.encode(sampleService('demo/web', changes).service).finish()
  return { Ref: { Set: Sets.ServicesSet, Path: 'demo/web' }, Bytes }
}

function endpoint(ip: string): ChangeSet['sets'][number] {
  const IPs = { V4: [ip], V6: [] }
  const Bytes = Endpoint.encode({ Hostname: '', IPs, Local: true, PortOverrides: [] }).finish()
  return { Ref: { Set: Sets.EndpointsSet, Path: 'demo/web/pod-0' }, Bytes }
}

const loopback = { ClusterIPs: { V4: ['10.96.0.10'], V6: [] }, ExternalIPs: { V4: ['127.0.0.1'], V6: [] } }

test('what no object of the API could have is left out and reported, once', () => {
  const { catalog, log, tell } = following()
  const lies = [service({ IPs: { ...loopback, Headless: false } }), endpoint('169.254.169.254')]
  tell(true, lies)
  tell(true, lies)
  expect([...catalog.services.values()].map(({ externalIPs }) => externalIPs)).toEqual([[]])
  expect([...catalog.slices.values()].map(({ endpoints }) => endpoints)).toEqual([[]])
  expect(log.lines.map(({ level, message, fields }) => [level, message, fields['field']])).toEqual([
    ['warn', 'part of an object is ignored', 'spec.externalIPs[0]'],
    ['warn', 'part of an object is ignored', 'endpoints[0].addresses[0]'],
  ])
})

test('a slice whose endpoints are gone, or have other ports now, goes with them', () => {
  const { catalog, tell } = following()
  tell(true, [service({}), endpoint('10.1.0.1')])
  const [before] = catalog.slices.keys()
  const ports = sampleService('demo/web').service.Ports.map((port) => ({ ...port, Name: '' }))
  tell(false, [service({ Ports: ports })])
  expect([...catalog.slices.values()].map(({ endpoints }) => endpoints.map(({ ip }) => ip))).toEqual([['10.1.0.1']])
  expect(catalog.slices.has(before!)).toBe(false)
  tell(true, [service({})])
  expect([catalog.services.size, catalog.slices.size]).toEqual([1, 0])
  tell(true, [])
  expect(catalog.services.size).toBe(0)
})

test('ranges of cluster IPs, which the server does not know, come from whoever starts the source', () => {
  const range: Cidr = { family: 'ipv4', network: '10.96.0.0', prefixLength: 12 }
  expect([...following([range]).catalog.serviceCidrs.values()].map(({ cidrs }) => cidrs)).toEqual([[range]])
  expect(following().catalog.serviceCidrs.size).toBe(0)
})
