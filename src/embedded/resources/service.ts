import type { Allocator, ResourceType } from '../resource.ts'
import type { Completed } from './define-resource.ts'
import { defineResource } from './define-resource.ts'
import { wrongDns1035Label } from './names.ts'
import { serviceSchema } from './schemas/service.ts'
import { allocateService } from './service-allocate.ts'
import { serviceCells, serviceColumns } from './service-cells.ts'
import { inheritFromOld } from './service-inherit.ts'
import type { Service } from './service-type.ts'
import { validateService } from './service-validate.ts'

export const services: ResourceType = defineResource<Service>({
  schema: serviceSchema,
  plural: 'services',
  singular: 'service',
  shortNames: ['svc'],
  categories: ['all'],
  isNamespaced: true,
  hasStatus: true,
  wrongName: wrongDns1035Label,
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
  const given = old === undefined ? service.spec : inheritFromOld(service.spec, old.spec)
  const owner = `${service.metadata.namespace ?? ''}/${service.metadata.name}`
  const { spec, errors } = allocateService(given, owner, allocator)
  // A new Service has no load balancer yet, whatever the client says.
  const status = old === undefined ? { loadBalancer: {} } : statusAfter(service, old)
  return { object: { ...service, spec, status }, errors }
}

/** A Service that stops being a load balancer loses its ingress addresses. */
function statusAfter(service: Service, old: Service): NonNullable<Service['status']> {
  const isNoLonger = old.spec.type === 'LoadBalancer' && service.spec.type !== 'LoadBalancer'
  return isNoLonger ? { loadBalancer: {} } : (service.status ?? { loadBalancer: {} })
}
