import type { JsonObject, JsonReader } from './json-reader.ts'
import type { ServiceRecord, SocketWishes } from './records.ts'

const balancings = ['on', 'off'] as const
const algorithms = ['random', 'round-robin'] as const

/** Returns no field for a Service without such annotations, which is nearly every one. */
export function parseSockets(annotations: JsonObject, read: JsonReader): Pick<ServiceRecord, 'sockets'> {
  const choice = <T extends string>(name: string, choices: readonly T[], fallback: T) =>
    read.choice(annotations, name, `metadata.annotations[${name}]`, choices, fallback)
  const balancing = choice('fairlead.dev/socket-balancing', balancings, 'on')
  const algorithm = choice('fairlead.dev/algorithm', algorithms, 'random')
  if (balancing === 'on' && algorithm === 'random') return {}
  const sockets: SocketWishes = {
    ...(balancing !== 'on' && { balancing }),
    ...(algorithm !== 'random' && { algorithm }),
  }
  return { sockets }
}
