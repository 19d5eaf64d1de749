import type { JsonObject, JsonReader } from './json-reader.ts'
import type { ServiceRecord } from './records.ts'

const annotation = 'fairlead.dev/socket-balancing'

/** Returns no field for a Service without the annotation, which is nearly every one. */
export function parseSockets(annotations: JsonObject, read: JsonReader): Pick<ServiceRecord, 'sockets'> {
  const balancing = read.choice(annotations, annotation, `metadata.annotations[${annotation}]`, ['on', 'off'], 'on')
  return balancing === 'off' ? { sockets: { balancing } } : {}
}
