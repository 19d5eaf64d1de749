import type { ResourceType } from '../resource.ts'
import { endpointSlices } from './endpoint-slice.ts'
import { endpoints } from './endpoints.ts'
import { coreEvents, events } from './event.ts'
import { namespaces } from './namespace.ts'
import { nodes } from './node.ts'
import { pods } from './pod.ts'
import { serviceCidrs } from './service-cidr.ts'
import { services } from './service.ts'

/** The kinds that the embedded API server serves. */
export const allResources: readonly ResourceType[] = [
  namespaces,
  services,
  endpoints,
  nodes,
  pods,
  coreEvents,
  endpointSlices,
  events,
  serviceCidrs,
]
