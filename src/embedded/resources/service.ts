import type { Allocator, ResourceType } from '../resource.ts'
import type { Completed } from './define-resource.ts'
import { defineResource } from './define-resource.ts'
import { wrongDns1123Label } from './names.ts'
import { serviceSchema } from './schemas/service.ts'
import { addressRequestErrors } from './service-address-errors.ts'
import { allocateService } from './service-allocate.ts'
import { serviceCells, serviceColumns } from './service-cells.ts'
import { inheritFromOld } from './service-inherit.ts'
import type { Service, ServiceSpec } from './service-type.ts'
import { validateService } from './service-validate.ts'

export const services: ResourceType = defineResource<Service>({
  schema: serviceSchema,
  plural: 'services',
  singular: 'service',
  shortNames: ['svc'],
  categories: ['all'],
  isNamespaced: true,
  hasStatus: true,
  // Since 1.36 a Service may start with a digit, like other objects.
  wrongName: wrongDns1123Label,
  selectableFields: {
    'spec.clusterIP': ({ spec }) => spec.clusterIP ?? '',
    'spec.type': ({ spec }) => spec.type,
  },
  columns: serviceColumns,
  cells: serviceCells,
  complete,
  validate: validateService,
})

function complete(service: Service, old: Service | undefined, allocator: Allocator): Completed<Service> {
  const given = withClusterIPs(old === undefined ? service.spec : inheritFromOld(service.spec, old.spec))
  const refused = addressRequestErrors(given)
  if (refused.length > 0) return { object: service, errors: refused }
  const owner = `${service.metadata.namespace ?? ''}/${service.metadata.name}`
  const { spec, errors } = allocateService(given, owner, allocator)
  // A new Service has no load balancer yet, whatever the client sent.
  const status = old === undefined ? { loadBalancer: {} } : statusAfter(service, old)
  return { object: { ...service, spec, status }, errors }
}

/** Older clients only know the singular form. */
function withClusterIPs(spec: ServiceSpec): ServiceSpec {
  const { clusterIP = '', clusterIPs = [] } = spec
  return clusterIP !== '' && clusterIPs.length === 0 ? { ...spec, clusterIPs: [clusterIP] } : spec
}

/** A Service that stops being a load balancer loses its ingress addresses. */
function statusAfter(service: Service, old: Service): NonNullable<Service['status']> {
  const isNoLonger = old.spec.type === 'LoadBalancer' && service.spec.type !== 'LoadBalancer'
  return isNoLonger ? { loadBalancer: {} } : (service.status ?? { loadBalancer: {} })
}
