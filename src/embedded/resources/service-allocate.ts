/** Gives a Service its IP families, cluster IPs and node ports. */
import { familyOf, parseIp } from '../../net/ip.ts'
import type { Allocator, FieldError } from '../resource.ts'
import { invalid } from './field-errors.ts'
import type { ServicePort, ServiceSpec } from './service-type.ts'
import { isHeadless, needsClusterIP, needsHealthCheckNodePort, needsNodePorts } from './service-type.ts'

export interface Allocated {
  readonly spec: ServiceSpec
  readonly errors: readonly FieldError[]
}

export function allocateService(given: ServiceSpec, owner: string, allocator: Allocator): Allocated {
  const errors: FieldError[] = []
  let spec = given
  if (needsClusterIP(spec)) {
    spec = chooseFamilies(spec, allocator, errors)
    if (errors.length === 0 && !isHeadless(spec)) spec = allocateClusterIPs(spec, owner, allocator, errors)
  }
  return { spec: allocateNodePorts(spec, owner, allocator, errors), errors }
}

function chooseFamilies(spec: ServiceSpec, allocator: Allocator, errors: FieldError[]): ServiceSpec {
  const available: readonly string[] = allocator.families.map(familyName)
  const addresses = isHeadless(spec) ? [] : (spec.clusterIPs ?? [])
  const families = [...(spec.ipFamilies ?? [])]
  for (const [index, address] of addresses.entries()) {
    families[index] ??= familyName(familyOf(parseIp(address) ?? address))
  }
  const isSelectorless = isHeadless(spec) && Object.keys(spec.selector ?? {}).length === 0
  const policy = spec.ipFamilyPolicy ?? (isSelectorless && families.length === 0 ? 'RequireDualStack' : 'SingleStack')
  for (const [index, family] of families.entries()) {
    // The endpoints of a headless Service without selector may be anywhere, so the cluster's families do not limit it.
    if (!available.includes(family) && !isSelectorless && (family === 'IPv4' || family === 'IPv6'))
      errors.push(invalid(`spec.ipFamilies[${index}]`, family, 'not configured on this cluster'))
  }
  if (policy === 'SingleStack' && Math.max(families.length, addresses.length) > 1) {
    const detail = 'must be RequireDualStack or PreferDualStack when multiple cluster IPs are specified'
    errors.push(invalid('spec.ipFamilyPolicy', policy, detail))
  }
  if (policy === 'RequireDualStack' && available.length < 2 && !isSelectorless)
    errors.push(invalid('spec.ipFamilyPolicy', policy, 'this cluster is not configured for dual-stack services'))
  if (families.length === 0) families.push(available[0] ?? 'IPv4')
  const wantsSecond = policy === 'RequireDualStack' || (policy === 'PreferDualStack' && available.length > 1)
  if (wantsSecond && families.length === 1) families.push(families[0] === 'IPv4' ? 'IPv6' : 'IPv4')
  const clusterIPs = isHeadless(spec) ? { clusterIPs: ['None'] } : {}
  return { ...spec, ...clusterIPs, ipFamilies: families, ipFamilyPolicy: policy }
}

function allocateClusterIPs(spec: ServiceSpec, owner: string, allocator: Allocator, errors: FieldError[]): ServiceSpec {
  const clusterIPs: string[] = []
  for (const [index, family] of (spec.ipFamilies ?? []).entries()) {
    const asked = spec.clusterIPs?.[index]
    if (asked !== undefined && asked !== '') {
      const canonical = parseIp(asked)
      const refusal = canonical === undefined ? undefined : allocator.refuseClusterIP(canonical, owner)
      if (refusal !== undefined)
        errors.push(invalid('spec.clusterIPs', spec.clusterIPs, `failed to allocate IP ${asked}: ${refusal}`))
      clusterIPs.push(asked)
      continue
    }
    const ip = allocator.nextClusterIP(family === 'IPv6' ? 'ipv6' : 'ipv4')
    if (ip === undefined)
      errors.push(
        invalid('spec.clusterIPs', spec.clusterIPs, `failed to allocate a serviceIP: the ${family} range is full`),
      )
    else clusterIPs.push(ip)
  }
  const [clusterIP] = clusterIPs
  return clusterIP === undefined || errors.length > 0
    ? spec
    : { ...spec, clusterIP: spec.clusterIP || clusterIP, clusterIPs }
}

function allocateNodePorts(spec: ServiceSpec, owner: string, allocator: Allocator, errors: FieldError[]): ServiceSpec {
  const taken = new Set<number>()
  const ports = spec.ports ?? []
  for (const [index, { nodePort, protocol }] of ports.entries()) {
    if (!nodePort || !hasNodePorts(spec)) continue
    const isTwice = ports.findIndex((one) => one.nodePort === nodePort && one.protocol === protocol) < index
    const refusal = isTwice ? 'provided port is already allocated' : allocator.refuseNodePort(nodePort, protocol, owner)
    taken.add(nodePort)
    if (refusal !== undefined) errors.push(invalid(`spec.ports[${index}].nodePort`, nodePort, refusal))
  }
  let healthCheckNodePort = spec.healthCheckNodePort
  if (needsHealthCheckNodePort(spec) && healthCheckNodePort) {
    taken.add(healthCheckNodePort)
    const refusal = allocator.refuseNodePort(healthCheckNodePort, 'TCP', owner)
    if (refusal !== undefined) errors.push(invalid('spec.healthCheckNodePort', healthCheckNodePort, refusal))
  }
  const next = (field: string): number | undefined => {
    const port = allocator.nextNodePort(taken)
    if (port === undefined) errors.push(invalid(field, 0, 'failed to allocate a nodePort: range is full'))
    else taken.add(port)
    return port
  }
  const numbered: ServicePort[] = []
  for (const [index, port] of ports.entries()) {
    if (!needsNodePorts(spec) || port.nodePort) {
      numbered.push(port)
      continue
    }
    const shared = sharedNodePort(port, [...numbered, ...ports])
    const isFree = shared !== undefined && allocator.refuseNodePort(shared, port.protocol, owner) === undefined
    const nodePort = isFree ? shared : next(`spec.ports[${index}].nodePort`)
    numbered.push(nodePort === undefined ? port : { ...port, nodePort })
  }
  if (needsHealthCheckNodePort(spec)) healthCheckNodePort ||= next('spec.healthCheckNodePort')
  return {
    ...spec,
    ...(spec.ports === undefined ? {} : { ports: numbered }),
    ...(healthCheckNodePort === undefined ? {} : { healthCheckNodePort }),
  }
}

/** DNS uses one port number with TCP and UDP. Its users see one service, so both get the same node port. */
function sharedNodePort(port: ServicePort, others: readonly ServicePort[]): number | undefined {
  const sibling = others.find((one) => one.port === port.port && one.protocol !== port.protocol && one.nodePort)
  const isTaken = others.some((one) => one.nodePort === sibling?.nodePort && one.protocol === port.protocol)
  return isTaken ? undefined : sibling?.nodePort
}

function hasNodePorts(spec: ServiceSpec): boolean {
  return spec.type === 'NodePort' || spec.type === 'LoadBalancer'
}

function familyName(family: 'ipv4' | 'ipv6'): 'IPv4' | 'IPv6' {
  return family === 'ipv4' ? 'IPv4' : 'IPv6'
}
