import type { JsonObject, JsonReader } from './json-reader.ts'
import type { Relaying, ServiceRecord } from './records.ts'

const balancings = ['round-robin', 'random', 'least-connections'] as const
const proxyProtocols = ['none', 'v1', 'v2'] as const
const clientAddresses = ['auto', 'node', 'transparent'] as const

/** Returns no field for a Service without such annotations, which is nearly every one. */
export function parseRelaying(annotations: JsonObject, read: JsonReader): Pick<ServiceRecord, 'relaying'> {
  const choice = <T extends string>(name: string, choices: readonly T[], fallback: T) =>
    read.choice(annotations, name, `metadata.annotations[${name}]`, choices, fallback)
  const balancing = choice('fairlead.dev/balancing', balancings, 'round-robin')
  const proxyProtocol = choice('fairlead.dev/proxy-protocol', proxyProtocols, 'none')
  const clientAddress = choice('fairlead.dev/client-address', clientAddresses, 'auto')
  if (balancing === 'round-robin' && proxyProtocol === 'none' && clientAddress === 'auto') return {}
  const relaying: Relaying = {
    ...(balancing !== 'round-robin' && { balancing }),
    ...(proxyProtocol !== 'none' && { proxyProtocol }),
    ...(clientAddress !== 'auto' && { clientAddress }),
  }
  return { relaying }
}
