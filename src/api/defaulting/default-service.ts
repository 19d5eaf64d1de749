/**
 * Fills in what an API server would fill in for a Service, without allocating anything. The object is as a person wrote
 * it. Fields of the wrong type stay as they are, because validation or parsing reports them.
 */
import type { JsonObject } from '../json-reader.ts'
import { isJsonObject } from '../json-reader.ts'
import { defaultAffinitySeconds, isReachableFromOutside } from '../service-rules.ts'
import { isAbsent } from './absent.ts'

export function defaultService(service: JsonObject): JsonObject {
  if (service['spec'] !== undefined && !isJsonObject(service['spec'])) return service
  const spec = defaultSpec(service['spec'] ?? {})
  const defaulted = { ...service, spec }
  return spec['type'] === 'LoadBalancer' && isJsonObject(service['status'])
    ? { ...defaulted, status: defaultStatus(service['status']) }
    : defaulted
}

function defaultSpec(given: JsonObject): JsonObject {
  const spec: Record<string, unknown> = { ...given }
  if (isAbsent(spec['sessionAffinity'])) spec['sessionAffinity'] = 'None'
  if (isAbsent(spec['type'])) spec['type'] = 'ClusterIP'
  if (spec['sessionAffinity'] === 'None') delete spec['sessionAffinityConfig']
  if (spec['sessionAffinity'] === 'ClientIP')
    spec['sessionAffinityConfig'] = defaultAffinity(spec['sessionAffinityConfig'])
  if (Array.isArray(spec['ports'])) spec['ports'] = spec['ports'].map(defaultPort)
  if (isExternallyReachable(spec) && isAbsent(spec['externalTrafficPolicy'])) spec['externalTrafficPolicy'] = 'Cluster'
  if (spec['type'] !== 'ExternalName' && isAbsent(spec['internalTrafficPolicy']))
    spec['internalTrafficPolicy'] = 'Cluster'
  if (spec['type'] === 'LoadBalancer') spec['allocateLoadBalancerNodePorts'] ??= true
  return spec
}

/** Whether clients outside the cluster may use the Service. */
export function isExternallyReachable(spec: JsonObject): boolean {
  const { type, externalIPs } = spec
  return isReachableFromOutside(type, Array.isArray(externalIPs) && externalIPs.length > 0)
}

function defaultAffinity(config: unknown): unknown {
  if (config !== undefined && config !== null && !isJsonObject(config)) return config
  const clientIP = config?.['clientIP'] ?? {}
  if (!isJsonObject(clientIP)) return config
  return { ...config, clientIP: { ...clientIP, timeoutSeconds: clientIP['timeoutSeconds'] ?? defaultAffinitySeconds } }
}

function defaultPort(port: unknown): unknown {
  if (!isJsonObject(port)) return port
  const target = port['targetPort']
  return {
    ...port,
    protocol: isAbsent(port['protocol']) ? 'TCP' : port['protocol'],
    ...(isAbsent(target) || target === 0 ? { targetPort: port['port'] } : {}),
  }
}

function defaultStatus(status: JsonObject): JsonObject {
  const loadBalancer = status['loadBalancer']
  if (!isJsonObject(loadBalancer) || !Array.isArray(loadBalancer['ingress'])) return status
  const ingress = loadBalancer['ingress'].map((entry: unknown) =>
    isJsonObject(entry) && !isAbsent(entry['ip']) && isAbsent(entry['ipMode']) ? { ...entry, ipMode: 'VIP' } : entry,
  )
  return { ...status, loadBalancer: { ...loadBalancer, ingress } }
}
