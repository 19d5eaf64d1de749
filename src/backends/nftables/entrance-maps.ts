/** The maps that an entrance is looked up in: those of addresses, or those of node ports, whose keys have no address. */
import type { DestinationField } from '../../dataplane/nft/rule.ts'
import type { ContainerName } from './containers.ts'

export interface EntranceMaps {
  /** In front of the names of the chains that use these maps. */
  readonly prefix: string
  /** What packets are looked up by. */
  readonly fields: readonly DestinationField[]
  readonly services: ContainerName
  readonly endpoints: ContainerName
  /** Where only endpoints on this node may serve. */
  readonly localServices: ContainerName
  readonly localEndpoints: ContainerName
  readonly noEndpoints: ContainerName
  /** Where a connection goes that its limits let through. */
  readonly limitedServices: ContainerName
  /** Which ones they refuse. */
  readonly refused: Readonly<Record<Limit, ContainerName>>
}

/** What a Service port may have too much of. */
export type Limit = 'connections' | 'dials'

export const addressMaps: EntranceMaps = {
  prefix: '',
  fields: ['destination', 'protocol', 'port'],
  services: 'services',
  endpoints: 'endpoints',
  localServices: 'local-services',
  localEndpoints: 'local-endpoints',
  noEndpoints: 'no-endpoints',
  limitedServices: 'limited-services',
  refused: { connections: 'refused-connections', dials: 'refused-dials' },
}

export const nodePortMaps: EntranceMaps = {
  prefix: 'nodeport-',
  fields: ['protocol', 'port'],
  services: 'nodeports',
  endpoints: 'nodeport-endpoints',
  localServices: 'local-nodeports',
  localEndpoints: 'local-nodeport-endpoints',
  noEndpoints: 'no-endpoint-nodeports',
  limitedServices: 'limited-nodeports',
  refused: { connections: 'refused-nodeport-connections', dials: 'refused-nodeport-dials' },
}
