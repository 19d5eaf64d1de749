/** The difference between two states of a node; additions come before removals. */
import { isSameData } from '../../core/same-data.ts'
import type { NodeEndpoint, NodeService } from './node-service.ts'

export interface NodeChanges {
  /** New Services, and those that changed in anything but their endpoints. */
  readonly setServices: readonly NodeService[]
  readonly setEndpoints: readonly EndpointChange[]
  readonly removedEndpoints: readonly { readonly service: NodeService; readonly endpoint: NodeEndpoint }[]
  readonly removedServices: readonly NodeService[]
}

export interface EndpointChange {
  readonly service: NodeService
  readonly endpoint: NodeEndpoint
  /** Absent if it is new. */
  readonly previous: NodeEndpoint | undefined
}

export interface ChangedService {
  readonly before: NodeService | undefined
  readonly after: NodeService | undefined
}

export function nodeChanges(changed: readonly ChangedService[]): NodeChanges {
  const setServices: NodeService[] = []
  const setEndpoints: EndpointChange[] = []
  const removedEndpoints: { service: NodeService; endpoint: NodeEndpoint }[] = []
  const removedServices: NodeService[] = []
  for (const { before, after } of changed) {
    if (after !== undefined && (before === undefined || !isSameService(before, after))) setServices.push(after)
    const earlier = new Map(before?.endpoints.map((endpoint) => [endpoint.id, endpoint]))
    for (const endpoint of after?.endpoints ?? []) {
      const previous = earlier.get(endpoint.id)
      earlier.delete(endpoint.id)
      if (after !== undefined && !isSameData(previous, endpoint))
        setEndpoints.push({ service: after, endpoint, previous })
    }
    if (before === undefined) continue
    for (const endpoint of earlier.values()) removedEndpoints.push({ service: before, endpoint })
    if (after === undefined) removedServices.push(before)
  }
  return { setServices, setEndpoints, removedEndpoints, removedServices }
}

function isSameService(before: NodeService, after: NodeService): boolean {
  return isSameData({ ...before, endpoints: [] }, { ...after, endpoints: [] })
}
