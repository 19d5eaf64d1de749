/**
 * The spans of the userspace mode as its first authors wanted them, by hand from their table: what each is part of, and what
 * it must say. Values are those of the script in `traces.test.ts`. docs/tracing.md explains each difference.
 */
import { expect } from 'vitest'

export interface SpanRow {
  readonly name: string
  /** Undefined: the root of a trace. */
  readonly below?: string
  readonly says: Readonly<Record<string, unknown>>
  /** Where we differ from the table, in a few words that the page has, too. */
  readonly differs?: string
}

const number = expect.any(Number) as unknown
const positive = expect.toSatisfy((value) => typeof value === 'number' && value > 0) as unknown
const text = expect.any(String) as unknown
const web = { 'k8s.namespace.name': 'default', 'k8s.service.name': 'web' }
const dns = { 'k8s.namespace.name': 'default', 'k8s.service.name': 'dns' }

const startRows: readonly SpanRow[] = [
  {
    name: 'createProxier',
    says: {
      'proxy.mode': 'userspace',
      'proxy.listen_ip': '0.0.0.0',
      'proxy.host_ip': '192.0.2.1',
      'sync.period_ms': 30_000,
      'sync.min_period_ms': 10,
      'udp.idle_ms': 250,
    },
  },
  {
    name: 'iptablesInit',
    below: 'syncProxyRules',
    says: {
      'chains.created': 7,
      'rules.created': positive,
      'proxy.listen_ip': '192.0.2.1',
      'proxy.host_ip': '192.0.2.1',
    },
    differs: 'below the first sync instead of `createProxier`',
  },
  {
    name: 'iptablesFlush',
    below: 'syncProxyRules',
    says: { chains: 0 },
    differs: 'below the first sync instead of `createProxier`',
  },
]

const slices = 'named after EndpointSlices instead of Endpoints'

const eventRows: readonly SpanRow[] = [
  { name: 'OnServiceSynced', says: { initialized: expect.any(Boolean) } },
  { name: 'OnEndpointSlicesSynced', says: { initialized: expect.any(Boolean) }, differs: slices },
  ...(['Add', 'Update', 'Delete'] as const).flatMap((verb): readonly SpanRow[] => [
    { name: `OnService${verb}`, says: verb === 'Add' ? dns : web },
    {
      name: 'serviceChange',
      below: `OnService${verb}`,
      says: { 'change.action': verb.toLowerCase(), 'change.collapsed': false, 'sync.requested': true },
    },
    { name: `OnEndpointSlice${verb}`, says: verb === 'Add' ? dns : web, differs: slices },
  ]),
  {
    name: 'LoadBalancerRR.OnEndpointSliceAdd',
    below: 'OnEndpointSliceAdd',
    says: {
      ports: 1,
      'endpoints.before': number,
      'endpoints.after': 1,
      'affinity.removed': 0,
      changed: expect.any(Boolean),
    },
    differs: slices,
  },
  {
    name: 'LoadBalancerRR.OnEndpointSliceUpdate',
    below: 'OnEndpointSliceUpdate',
    says: { ports: 1, 'endpoints.before': 1, 'endpoints.after': 1, 'affinity.removed': 1, changed: true },
    differs: 'counts endpoints, not clients',
  },
  {
    name: 'LoadBalancerRR.OnEndpointSliceDelete',
    below: 'OnEndpointSliceDelete',
    says: { ports: 1, 'endpoints.before': 1, 'endpoints.after': 0, 'affinity.removed': 1, changed: true },
    differs: 'counts endpoints, not clients',
  },
]

const mergeRows: readonly SpanRow[] = [
  { name: 'mergeService', below: 'syncProxyRules', says: { service: 'default/web', ports: 1, changed: true } },
  {
    name: 'mergeService',
    below: 'syncProxyRules',
    says: { service: 'default/calls', skipped: expect.stringContaining('SCTP') as unknown },
  },
  {
    name: 'addServiceOnPortInternal',
    below: 'mergeService',
    says: { service_port: 'default/web:http', protocol: 'TCP', 'proxy.port': positive },
  },
  {
    name: 'addServiceOnPortInternal',
    below: 'mergeService',
    says: { service_port: 'default/dns:dns', protocol: 'UDP', 'proxy.port': positive },
  },
  { name: 'openPortal', below: 'mergeService', says: { service_port: 'default/web:http' } },
  {
    name: 'openOnePortal',
    below: 'openPortal',
    says: {
      'portal.ip': '10.96.0.10',
      'portal.port': 80,
      'portal.external': false,
      claim: false,
      'rules.added': positive,
    },
  },
  {
    name: 'openOnePortal',
    below: 'openPortal',
    says: { 'portal.ip': '198.51.100.7', 'portal.port': 80, 'portal.external': true, 'rules.added': positive },
  },
  { name: 'openNodePort', below: 'openPortal', says: { node_port: 30080, claim: true, 'rules.added': positive } },
  {
    name: 'LoadBalancerRR.NewService',
    below: 'mergeService',
    says: { 'affinity.type': 'ClientIP', 'affinity.ttl_s': 10_800 },
  },
  {
    name: 'LoadBalancerRR.NewService',
    below: 'mergeService',
    says: { 'affinity.type': 'None', 'affinity.ttl_s': 0 },
  },
  // An address that a Service loses while it stays.
  { name: 'closePortal', below: 'mergeService', says: { service_port: 'default/web:http' } },
]

const unmergeRows: readonly SpanRow[] = [
  { name: 'unmergeService', below: 'syncProxyRules', says: { service: 'default/web', 'ports.removed': 1 } },
  { name: 'closePortal', below: 'unmergeService', says: { service_port: 'default/web:http' } },
  { name: 'closeOnePortal', below: 'closePortal', says: { 'portal.ip': '10.96.0.10', 'portal.port': 80 } },
  { name: 'closeNodePort', below: 'closePortal', says: { node_port: 30080 } },
  { name: 'stopProxy', below: 'unmergeService', says: { 'proxy.port': positive, 'connections.left': 0 } },
  {
    name: 'conntrack.ClearEntriesForIP',
    below: 'delete stale UDP flows',
    says: { ip: '["10.96.0.53"]', deleted: positive },
    differs: 'for all Services at once',
  },
]

const syncRows: readonly SpanRow[] = [
  { name: 'syncProxyRules', says: { trigger: 'start', changes: positive, services: 1, elapsed_ms: positive } },
  { name: 'syncProxyRules', says: { trigger: 'change', changes: positive, services: 3, elapsed_ms: positive } },
  ...mergeRows,
  ...unmergeRows,
  {
    name: 'ensurePortals',
    below: 'syncProxyRules',
    says: { services: positive, 'rules.checked': positive, 'rules.restored': positive, errors: 0 },
    differs: 'after all rules have been compared, or those of what changed',
  },
  {
    name: 'cleanupStaleStickySessions',
    below: 'syncProxyRules',
    says: { services: 1, removed: 1 },
    differs: 'counts Services, not clients',
  },
]

const connectionRows: readonly SpanRow[] = [
  {
    name: 'proxyConnection',
    says: {
      'client.address': text,
      'client.port': positive,
      service_port: 'default/web:http',
      'network.local.address': '192.0.2.1',
      result: 'connected',
    },
  },
  { name: 'proxyConnection', says: { service_port: 'default/web:http', result: 'unreachable', error: true } },
  { name: 'tryConnect', below: 'proxyConnection', says: { attempts: 1 } },
  { name: 'tryConnect', below: 'proxyConnection', says: { attempts: positive, error: true } },
  {
    name: 'NextEndpoint',
    below: 'tryConnect',
    says: { 'affinity.hit': false, 'affinity.reset': false, 'endpoints.count': 1, endpoint: '192.0.2.1:16686' },
  },
  { name: 'dial', below: 'tryConnect', says: { endpoint: '192.0.2.1:16686', timeout_ms: 250 } },
  { name: 'dial', below: 'tryConnect', says: { endpoint: '192.0.2.1:1', timeout_ms: 250, 'error.type': text } },
  { name: 'proxyTCP', below: 'proxyConnection', says: {} },
  { name: 'copyBytes', below: 'proxyTCP', says: { direction: 'to backend', bytes: positive } },
  { name: 'copyBytes', below: 'proxyTCP', says: { direction: 'from backend', bytes: positive } },
  {
    name: 'udpClient',
    says: {
      'client.address': text,
      service_port: 'default/dns:dns',
      endpoint: '192.0.2.1:5353',
      'datagrams.in': positive,
      'datagrams.out': positive,
      'bytes.in': positive,
      'bytes.out': positive,
      'end.reason': text,
    },
  },
]

export const userspaceRows: readonly SpanRow[] = [...startRows, ...eventRows, ...syncRows, ...connectionRows]

/** What the table does not have. */
export const ownEdges: readonly string[] = [
  'createProxier > findNode',
  'createProxier > findFamilies',
  'createProxier > lock',
  'createProxier > prepare',
  'createProxier > open',
  'syncProxyRules > plan',
  'ensurePortals > commit',
  'syncProxyRules > service health checks',
  'syncProxyRules > delete stale UDP flows',
]
