import type { Endpoint, PortMapping } from '../proto/generated/localv1/api.ts'

/**
 * The port of an endpoint that serves a Service port; undefined when it does not. Overrides bear the names of Service
 * ports. An unnamed port may also go by the name of its target, as Go cores send it.
 */
export function endpointPort(endpoint: Pick<Endpoint, 'PortOverrides'>, port: PortMapping): number | undefined {
  const named = (name: string) => endpoint.PortOverrides.find(({ Name }) => Name === name)?.Port
  const own = named(port.Name)
  if (own !== undefined || port.Name !== '') return own
  if (port.TargetPortName !== '') return named(port.TargetPortName)
  return port.TargetPort > 0 ? port.TargetPort : undefined
}
