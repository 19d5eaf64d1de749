/**
 * The maps that an entrance is looked up in: those of addresses, those of node ports, whose keys have no address, or those of
 * ranges of ports, whose endpoints have none.
 */
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
  /** Endpoints get connections at the port that the client asked for. */
  readonly keepsPort: boolean
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
  keepsPort: false,
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
  keepsPort: false,
}

/** Only in the table while some Service has a range. */
export const rangeMaps: EntranceMaps = {
  prefix: 'range-',
  fields: addressMaps.fields,
  services: 'ranges',
  endpoints: 'range-endpoints',
  localServices: 'local-ranges',
  localEndpoints: 'local-range-endpoints',
  noEndpoints: 'no-endpoint-ranges',
  limitedServices: 'limited-ranges',
  refused: { connections: 'refused-range-connections', dials: 'refused-range-dials' },
  keepsPort: true,
}
