/** Which Services are refused, with Kubernetes' messages. */
import { isExternallyReachable } from '../../api/defaulting/default-service.ts'
import type { FieldError } from '../resource.ts'
import { cidrErrors, ipErrors, ordinaryIpErrors } from './address-errors.ts'
import { forbidden, invalid, notSupported, required } from './field-errors.ts'
import { wrongDns1123Subdomain, wrongQualifiedName } from './names.ts'
import { labelErrors } from './object-meta.ts'
import { addressChangeErrors } from './service-address-errors.ts'
import { servicePortErrors } from './service-port-errors.ts'
import type { Service, ServiceSpec } from './service-type.ts'
import { isHeadless, needsHealthCheckNodePort } from './service-type.ts'

const types = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName']
const policies = ['Cluster', 'Local']
const distributions = ['PreferClose', 'PreferSameNode', 'PreferSameZone']
const maximumAffinitySeconds = 86_400
/** The kubelet's port: a load balancer for it would open every node to its clients. */
const kubeletPort = 10_250

export function validateService(service: Service, old: Service | undefined): FieldError[] {
  const { spec } = service
  return [
    ...typeErrors(spec),
    ...servicePortErrors(spec),
    ...affinityErrors(spec),
    ...labelErrors(spec.selector ?? {}, 'spec.selector'),
    ...(spec.externalIPs ?? []).flatMap((ip, index) => ordinaryIpErrors(`spec.externalIPs[${index}]`, ip)),
    ...policyErrors(spec),
    ...loadBalancerErrors(spec, old?.spec),
    ...(old === undefined ? [] : changeErrors(spec, old.spec)),
    ...statusErrors(service),
  ]
}

function typeErrors(spec: ServiceSpec): FieldError[] {
  if (!types.includes(spec.type)) return [notSupported('spec.type', spec.type, types)]
  if (spec.type === 'ExternalName') {
    const name = (spec.externalName ?? '').replace(/\.$/, '')
    if (name === '') return [required('spec.externalName')]
    const wrong = wrongDns1123Subdomain(name)
    return wrong === undefined ? [] : [invalid('spec.externalName', spec.externalName, wrong)]
  }
  const errors: FieldError[] = []
  if (isHeadless(spec) && spec.type !== 'ClusterIP')
    errors.push(invalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${spec.type} services`))
  for (const [index, { port }] of (spec.ports ?? []).entries()) {
    if (spec.type === 'LoadBalancer' && port === kubeletPort) {
      const detail = `may not expose port ${kubeletPort} externally since it is used by kubelet`
      errors.push(invalid(`spec.ports[${index}].port`, port, detail))
    }
  }
  return errors
}

function affinityErrors(spec: ServiceSpec): FieldError[] {
  const { sessionAffinity = '', sessionAffinityConfig } = spec
  if (sessionAffinity === '') return [required('spec.sessionAffinity')]
  if (sessionAffinity !== 'None' && sessionAffinity !== 'ClientIP')
    return [notSupported('spec.sessionAffinity', sessionAffinity, ['ClientIP', 'None'])]
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds
  if (sessionAffinity === 'None' || seconds === undefined || (seconds > 0 && seconds <= maximumAffinitySeconds))
    return []
  return [
    invalid(
      'spec.sessionAffinityConfig.clientIP.timeoutSeconds',
      seconds,
      `must be greater than 0 and less than ${maximumAffinitySeconds}`,
    ),
  ]
}

function policyErrors(spec: ServiceSpec): FieldError[] {
  const { externalTrafficPolicy = '', internalTrafficPolicy, trafficDistribution, healthCheckNodePort } = spec
  const errors: FieldError[] = []
  if (isExternallyReachable({ ...spec })) {
    if (!policies.includes(externalTrafficPolicy))
      errors.push(notSupported('spec.externalTrafficPolicy', externalTrafficPolicy, policies))
  } else if (externalTrafficPolicy !== '') {
    const detail = 'may only be set for externally-accessible services'
    errors.push(invalid('spec.externalTrafficPolicy', externalTrafficPolicy, detail))
  }
  if (healthCheckNodePort && !needsHealthCheckNodePort(spec)) {
    const detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
    errors.push(invalid('spec.healthCheckNodePort', healthCheckNodePort, detail))
  }
  if (internalTrafficPolicy !== undefined && !policies.includes(internalTrafficPolicy))
    errors.push(notSupported('spec.internalTrafficPolicy', internalTrafficPolicy, policies))
  if (trafficDistribution !== undefined && !distributions.includes(trafficDistribution))
    errors.push(notSupported('spec.trafficDistribution', trafficDistribution, distributions))
  return errors
}

function loadBalancerErrors(spec: ServiceSpec, old: ServiceSpec | undefined): FieldError[] {
  const { loadBalancerClass, loadBalancerSourceRanges: ranges = [], allocateLoadBalancerNodePorts } = spec
  const errors = ranges.flatMap((range, index) => cidrErrors(`spec.loadBalancerSourceRanges[${index}]`, range.trim()))
  if (loadBalancerClass !== undefined) {
    const wrong = wrongQualifiedName(loadBalancerClass)
    if (wrong !== undefined) errors.push(invalid('spec.loadBalancerClass', loadBalancerClass, wrong))
  }
  if (spec.type === 'LoadBalancer') {
    if (old?.type === 'LoadBalancer' && old.loadBalancerClass !== loadBalancerClass)
      errors.push(invalid('spec.loadBalancerClass', loadBalancerClass ?? null, 'may not change once set'))
    return errors
  }
  const onlyFor = "may only be used when `type` is 'LoadBalancer'"
  if (ranges.length > 0) errors.push(forbidden('spec.loadBalancerSourceRanges', onlyFor))
  if (loadBalancerClass !== undefined) errors.push(forbidden('spec.loadBalancerClass', onlyFor))
  if (allocateLoadBalancerNodePorts !== undefined) errors.push(forbidden('spec.allocateLoadBalancerNodePorts', onlyFor))
  return errors
}

function changeErrors(spec: ServiceSpec, old: ServiceSpec): FieldError[] {
  const errors = addressChangeErrors(spec, old)
  const isPortForLife = needsHealthCheckNodePort(spec) && needsHealthCheckNodePort(old)
  if (isPortForLife && spec.healthCheckNodePort !== old.healthCheckNodePort)
    errors.push(forbidden('spec.healthCheckNodePort', 'field is immutable'))
  return errors
}

function statusErrors({ spec, status }: Service): FieldError[] {
  const ingress = status?.loadBalancer?.ingress ?? []
  if (ingress.length > 0 && spec.type !== 'LoadBalancer')
    return [forbidden('status.loadBalancer.ingress', "may only be used when `spec.type` is 'LoadBalancer'")]
  return ingress.flatMap(({ ip = '', ipMode }, index) => {
    const path = `status.loadBalancer.ingress[${index}]`
    const errors = ip === '' ? [] : ipErrors(`${path}.ip`, ip)
    if (ipMode !== undefined && ip === '')
      errors.push(forbidden(`${path}.ipMode`, 'may not be specified when `ip` is not set'))
    if (ipMode !== undefined && ipMode !== 'VIP' && ipMode !== 'Proxy')
      errors.push(notSupported(`${path}.ipMode`, ipMode, ['VIP', 'Proxy']))
    return errors
  })
}
