import type { Endpoint, PortMapping } from '../proto/generated/localv1/api.ts'

/**
 * The port at which an endpoint serves a Service port, if it does. Overrides have the names of Service ports. An
 * unnamed port may also have the name of its target, as Go cores send it.
 */
export function endpointPort(endpoint: Pick<Endpoint, 'PortOverrides'>, port: PortMapping): number | undefined {
  const named = (name: string) => endpoint.PortOverrides.find(({ Name }) => Name === name)?.Port
  const own = named(port.Name)
  if (own !== undefined || port.Name !== '') return own
  if (port.TargetPortName !== '') return named(port.TargetPortName)
  return port.TargetPort > 0 ? port.TargetPort : undefined
}
