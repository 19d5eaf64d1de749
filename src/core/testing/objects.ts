/** Builders for tests: API objects as a server would send them, and the records made of them. */
import { parseObject } from '../../api/parse.ts'
import type { NodeRecord, ObjectKind, RecordOf, ServiceRecord, SliceRecord } from '../../api/records.ts'

type Json = Record<string, unknown>

export function rawService(id: string, spec: Json, status: Json = {}, metadata: Json = {}): Json {
  return { apiVersion: 'v1', kind: 'Service', metadata: { ...named(id), ...metadata }, spec, status }
}

/** Endpoints are `ip`, or an object as in the API; ports are numbers or objects. */
export function rawSlice(
  id: string,
  service: string,
  endpoints: readonly (string | Json)[],
  ports: readonly (number | Json)[] = [8080],
  rest: Json = {},
): Json {
  const addressType = endpoints.some((it) => String(typeof it === 'string' ? it : it['addresses']).includes(':'))
  const meta = { ...named(id), labels: { 'kubernetes.io/service-name': service } }
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...meta, ...(rest['metadata'] as Json) },
    addressType: rest['addressType'] ?? (addressType ? 'IPv6' : 'IPv4'),
    ports: ports.map((port) => (typeof port === 'number' ? { name: '', port, protocol: 'TCP' } : port)),
    endpoints: endpoints.map((it) => (typeof it === 'string' ? { addresses: [it] } : it)),
  }
}

export function rawNode(name: string, rest: Json = {}): Json {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: {}, status: {}, ...rest }
}

/** The record of an object that must be good. */
export function record<K extends ObjectKind>(kind: K, raw: unknown): RecordOf<K> {
  const parsed = parseObject(kind, raw)
  if (!parsed.ok) throw new Error(`test object is not good: ${JSON.stringify(parsed.problems)}`)
  return parsed.record
}

export function service(id: string, spec: Json, status: Json = {}): ServiceRecord {
  return record('Service', rawService(id, spec, status))
}

export function slice(...args: Parameters<typeof rawSlice>): SliceRecord {
  return record('EndpointSlice', rawSlice(...args))
}

export function node(name: string, zone = ''): NodeRecord {
  const labels = zone === '' ? {} : { 'topology.kubernetes.io/zone': zone }
  return record('Node', rawNode(name, { metadata: { name, labels } }))
}

function named(id: string): Json {
  const [namespace, name] = id.split('/')
  return { namespace, name }
}
