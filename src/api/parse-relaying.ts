import type { JsonObject, JsonReader } from './json-reader.ts'
import type { Relaying, ServiceRecord } from './records.ts'

const proxyProtocols = ['none', 'v1', 'v2'] as const
const clientAddresses = ['auto', 'node', 'transparent'] as const

/** Returns no field for a Service without such annotations, which is nearly every one. */
export function parseRelaying(annotations: JsonObject, read: JsonReader): Pick<ServiceRecord, 'relaying'> {
  const choice = <T extends string>(name: string, choices: readonly T[], fallback: T) =>
    read.choice(annotations, name, `metadata.annotations[${name}]`, choices, fallback)
  const proxyProtocol = choice('fairlead.dev/proxy-protocol', proxyProtocols, 'none')
  const clientAddress = choice('fairlead.dev/client-address', clientAddresses, 'auto')
  if (proxyProtocol === 'none' && clientAddress === 'auto') return {}
  const relaying: Relaying = {
    ...(proxyProtocol !== 'none' && { proxyProtocol }),
    ...(clientAddress !== 'auto' && { clientAddress }),
  }
  return { relaying }
}
