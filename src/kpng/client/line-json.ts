/**
 * Records as programs get them in JSON lines: names instead of numbers, and no empty values. What is missing is false,
 * 0, "" or an empty list.
 */
import type { Endpoint, Service } from '../proto/generated/localv1/api.ts'
import { protocolName } from '../wire/protocol-name.ts'
import type { Json } from './go-json.ts'

export function serviceLineJson({ SessionAffinity: affinity, Ports, ...service }: Service): Json {
  const ports = Ports.map((port) => ({ ...port, Protocol: protocolName(port.Protocol) }))
  return (
    withoutEmptyValues({ ...service, Ports: ports, SessionAffinity: affinity && { ClientIP: affinity.value } }) ?? {}
  )
}

export function endpointLineJson(endpoint: Endpoint): Json {
  // Servers before August 2022 do not send it, and mean all traffic.
  const { Scopes = { Internal: true, External: true } } = endpoint
  return withoutEmptyValues({ ...endpoint, Scopes }) ?? {}
}

/** Returns nothing if the value is empty. */
function withoutEmptyValues(value: unknown, name = ''): Json | undefined {
  if (value === undefined || value === null || value === '' || value === 0 || value === false) return undefined
  if (Array.isArray(value))
    return value.length === 0 ? undefined : value.map((item: unknown) => withoutEmptyValues(item) ?? (item as Json))
  if (typeof value !== 'object') return value as Json
  // A label without a value is still a label.
  const isMap = name === 'Labels' || name === 'Annotations'
  const kept: Record<string, Json> = {}
  for (const [key, item] of Object.entries(value) as [string, unknown][]) {
    const json = isMap ? (item as Json) : withoutEmptyValues(item, key)
    if (json !== undefined) kept[key] = json
  }
  return Object.keys(kept).length === 0 ? undefined : kept
}
