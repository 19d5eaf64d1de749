/** Which addresses of its load balancer a Service has on every node, and which only the load balancer itself has. */
import type { JsonObject, JsonReader } from './json-reader.ts'
import type { ServiceRecord } from './records.ts'

const hairpinAnnotation = 'fairlead.dev/load-balancer-hairpin'
const hairpins = ['local', 'through'] as const

export interface IngressAddresses {
  readonly vips: readonly string[]
  /** Those whose ipMode is Proxy. */
  readonly proxied: readonly string[]
}

type LoadBalancerFields = Pick<ServiceRecord, 'loadBalancerIPs' | 'leftToLoadBalancer'>

export function loadBalancerFields(
  { vips, proxied }: IngressAddresses,
  annotations: JsonObject,
  read: JsonReader,
): LoadBalancerFields {
  const path = `metadata.annotations[${hairpinAnnotation}]`
  const isThrough = read.choice(annotations, hairpinAnnotation, path, hairpins, 'local') === 'through'
  if (isThrough && vips.length > 0)
    return { loadBalancerIPs: [], leftToLoadBalancer: { ips: [...vips, ...proxied], because: 'hairpin' } }
  if (proxied.length === 0) return { loadBalancerIPs: vips }
  return { loadBalancerIPs: vips, leftToLoadBalancer: { ips: proxied, because: 'ipMode' } }
}
