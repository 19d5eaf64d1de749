/** The Service `demo/web` of the tests, TCP 80 to 8080, and its pods. */
import type { ServiceRecord, SliceRecord } from '../../../api/records.ts'
import { rawService, record, slice } from '../../../core/testing/objects.ts'
import { nodeName } from './windows-node.ts'

type Json = Readonly<Record<string, unknown>>

export interface Wishes extends Json {
  readonly annotations?: Readonly<Record<string, string>>
  readonly ingress?: readonly (string | Json)[]
  readonly name?: string
}

/** A load balancer's Service if it has an ingress, else one with a node port if it has that. */
export function web({ annotations = {}, ingress = [], name = 'web', ...spec }: Wishes = {}): ServiceRecord {
  const addresses = ingress.map((it) => (typeof it === 'string' ? { ip: it } : it))
  const ports = [{ port: 80, targetPort: 8080, protocol: 'TCP' }]
  const type = ingress.length > 0 ? 'LoadBalancer' : 'ClusterIP'
  return record(
    'Service',
    rawService(
      `demo/${name}`,
      { type, clusterIP: '10.112.0.20', ports, ...spec },
      { loadBalancer: { ingress: addresses } },
      { annotations },
    ),
  )
}

export const nodePort = { type: 'NodePort', ports: [{ port: 80, targetPort: 8080, nodePort: 31_080 }] } as const
export const balanced = { ...nodePort, type: 'LoadBalancer', ingress: ['203.0.113.40'] } as const
export const externalLocal = { externalTrafficPolicy: 'Local' } as const
export const internalLocal = { internalTrafficPolicy: 'Local' } as const

/**
 * `10.61.2.7 leaving`: ready unless it says `leaving` (terminates, and serves), `gone`, `unready`, or `published` (ready,
 * but does not serve). Those at 10.61.1.x are on this node; the slice does not say so if they are `somewhere`.
 */
export function pods(descriptions: readonly string[], { name = 'web', port = 8080 } = {}): SliceRecord {
  return slice(`demo/${name}-1`, name, descriptions.map(endpoint), [port])
}

function endpoint(description: string): Record<string, unknown> {
  const [ip = '', ...traits] = description.split(' ')
  const has = (trait: string) => traits.includes(trait)
  const isHere = ip.startsWith('10.61.1.') || ip.startsWith('2001:db8:61::1:')
  return {
    addresses: [ip],
    ...(has('somewhere') ? {} : { nodeName: isHere ? nodeName : 'win-b' }),
    conditions: {
      ready: !has('leaving') && !has('gone') && !has('unready'),
      serving: !has('gone') && !has('unready') && !has('published'),
      terminating: has('leaving') || has('gone'),
    },
  }
}
