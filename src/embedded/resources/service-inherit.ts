/**
 * What an update of a Service takes over from the old object. Clients often leave out the values that the server
 * allocated, or change the type and keep the fields of the old type. Both must work.
 */
import { isDeepStrictEqual } from 'node:util'
import { isExternallyReachable } from '../../api/defaulting/default-service.ts'
import type { ServicePort, ServiceSpec } from './service-type.ts'
import { needsClusterIP, needsHealthCheckNodePort, needsNodePorts } from './service-type.ts'

type Draft = { -readonly [K in keyof ServiceSpec]: ServiceSpec[K] }

export function inheritFromOld(given: ServiceSpec, old: ServiceSpec): ServiceSpec {
  const spec: Draft = { ...given }
  followClusterIP(spec, old)
  keepAllocated(spec, old)
  dropFieldsOfOldType(spec, old)
  dropSecondFamily(spec, old)
  return spec
}

/** A client that changed the singular clusterIP and left the plural as it was means the singular. */
function followClusterIP(spec: Draft, old: ServiceSpec): void {
  const isSingularChanged = (spec.clusterIP ?? '') !== (old.clusterIP ?? '')
  if (!isSingularChanged || !isDeepStrictEqual(spec.clusterIPs, old.clusterIPs)) return
  if ((spec.clusterIP ?? '') === '') delete spec.clusterIPs
  else spec.clusterIPs = [spec.clusterIP ?? '']
}

function keepAllocated(spec: Draft, old: ServiceSpec): void {
  if (needsClusterIP(spec) && needsClusterIP(old)) {
    if ((spec.clusterIP ?? '') === '' && old.clusterIP !== undefined) spec.clusterIP = old.clusterIP
    if ((spec.clusterIPs ?? []).length === 0 && spec.clusterIP === old.clusterIP && old.clusterIPs !== undefined)
      spec.clusterIPs = old.clusterIPs
    if (spec.clusterIP === old.clusterIP) {
      if (spec.ipFamilies === undefined && old.ipFamilies !== undefined) spec.ipFamilies = old.ipFamilies
      if (spec.ipFamilyPolicy === undefined && old.ipFamilyPolicy !== undefined)
        spec.ipFamilyPolicy = old.ipFamilyPolicy
    }
  }
  if (needsNodePorts(spec) && needsNodePorts(old) && spec.ports !== undefined)
    spec.ports = keepNodePorts(spec.ports, old.ports ?? [])
  if (needsHealthCheckNodePort(spec) && needsHealthCheckNodePort(old) && !spec.healthCheckNodePort)
    if (old.healthCheckNodePort !== undefined) spec.healthCheckNodePort = old.healthCheckNodePort
}

function keepNodePorts(ports: readonly ServicePort[], old: readonly ServicePort[]): ServicePort[] {
  const asked = new Set(ports.map((port) => `${port.protocol} ${port.nodePort ?? 0}`))
  return ports.map((port) => {
    if (port.nodePort) return port
    const before = old.find((one) => one.port === port.port && one.protocol === port.protocol)?.nodePort
    // Another port of the new object may ask for that number.
    return before && !asked.has(`${port.protocol} ${before}`) ? { ...port, nodePort: before } : port
  })
}

/** Fields that the new type cannot have are dropped, unless the client changed them; then validation refuses them. */
function dropFieldsOfOldType(spec: Draft, old: ServiceSpec): void {
  if (needsClusterIP(old) && !needsClusterIP(spec) && sameClusterIPs(spec, old)) {
    delete spec.clusterIP
    delete spec.clusterIPs
    delete spec.ipFamilies
    delete spec.ipFamilyPolicy
    if (spec.internalTrafficPolicy === old.internalTrafficPolicy) delete spec.internalTrafficPolicy
  }
  if (needsNodePorts(old) && !mayHaveNodePorts(spec) && isDeepStrictEqual(nodePorts(spec), nodePorts(old)))
    spec.ports = (spec.ports ?? []).map(withoutNodePort)
  if (needsHealthCheckNodePort(old) && !needsHealthCheckNodePort(spec)) dropIfSame(spec, old, 'healthCheckNodePort')
  if (old.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    dropIfSame(spec, old, 'allocateLoadBalancerNodePorts')
    dropIfSame(spec, old, 'loadBalancerClass')
  }
  if (isExternallyReachable({ ...old }) && !isExternallyReachable({ ...spec }))
    dropIfSame(spec, old, 'externalTrafficPolicy')
}

/** From dual to single stack with no other change: the first family stays. */
function dropSecondFamily(spec: Draft, old: ServiceSpec): void {
  if (spec.ipFamilyPolicy !== 'SingleStack' || old.ipFamilyPolicy === 'SingleStack') return
  if (!isDeepStrictEqual(spec.clusterIPs, old.clusterIPs) || !isDeepStrictEqual(spec.ipFamilies, old.ipFamilies)) return
  if (spec.clusterIPs !== undefined) spec.clusterIPs = spec.clusterIPs.slice(0, 1)
  if (spec.ipFamilies !== undefined) spec.ipFamilies = spec.ipFamilies.slice(0, 1)
}

function sameClusterIPs(spec: ServiceSpec, old: ServiceSpec): boolean {
  return spec.clusterIP === old.clusterIP && isDeepStrictEqual(spec.clusterIPs, old.clusterIPs)
}

function mayHaveNodePorts(spec: ServiceSpec): boolean {
  return spec.type === 'NodePort' || spec.type === 'LoadBalancer'
}

function nodePorts(spec: ServiceSpec): number[] {
  return (spec.ports ?? []).map((port) => port.nodePort ?? 0).sort((a, b) => a - b)
}

function withoutNodePort({ nodePort: _nodePort, ...port }: ServicePort): ServicePort {
  return port
}

function dropIfSame(spec: Draft, old: ServiceSpec, field: keyof ServiceSpec): void {
  if (isDeepStrictEqual(spec[field], old[field])) delete spec[field]
}
