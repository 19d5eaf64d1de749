import { expect, test } from 'vitest'
import type { SliceEndpoint, SliceRecord } from '../../../api/records.ts'
import { endpointCounts } from './endpoint-counts.ts'

test('one IP at several ports is several endpoints; one that is in two slices is one, ready if either says so', () => {
  expect(endpointCounts([slice(8080, ready('10.0.0.1')), slice(8081, ready('10.0.0.1'))], [])).toMatchObject({
    total: 2,
    ready: 2,
  })
  const moving = [slice(8080, { ...ready('10.0.0.1'), ready: false }), slice(8080, ready('10.0.0.1'))]
  expect(endpointCounts(moving, [])).toMatchObject({ total: 1, ready: 1 })
})

function ready(ip: string): SliceEndpoint {
  return { ip, nodeName: '', ready: true } as Partial<SliceEndpoint> as SliceEndpoint
}

function slice(port: number, ...endpoints: readonly SliceEndpoint[]): SliceRecord {
  return {
    kind: 'EndpointSlice',
    namespace: 'shop',
    name: `web-${port}`,
    serviceName: 'web',
    family: 'ipv4',
    ports: [{ name: 'http', protocol: 'TCP', port }],
    endpoints,
    triggerTimeMs: undefined,
  }
}
