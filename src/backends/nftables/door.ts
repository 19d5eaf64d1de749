/** The two ways to reach a Service port: by an address of the Service, or by a port of this node. */
import type { ContainerName } from './containers.ts'
import type { Field } from './rule.ts'

export interface Door {
  /** In front of the names of its chains. */
  readonly prefix: string
  /** What packets are looked up by. */
  readonly fields: readonly Field[]
  readonly services: ContainerName
  readonly endpoints: ContainerName
  /** Those of policy Local. */
  readonly localServices: ContainerName
  readonly localEndpoints: ContainerName
  readonly noEndpoints: ContainerName
}

export const addressDoor: Door = {
  prefix: '',
  fields: ['destination', 'protocol', 'port'],
  services: 'services',
  endpoints: 'endpoints',
  localServices: 'local-services',
  localEndpoints: 'local-endpoints',
  noEndpoints: 'no-endpoints',
}

export const nodePortDoor: Door = {
  prefix: 'nodeport-',
  fields: ['protocol', 'port'],
  services: 'nodeports',
  endpoints: 'nodeport-endpoints',
  localServices: 'local-nodeports',
  localEndpoints: 'local-nodeport-endpoints',
  noEndpoints: 'no-endpoint-nodeports',
}
