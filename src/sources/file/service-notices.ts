/** What may surprise the author of a Service. */
import { isJsonObject } from '../../api/json-reader.ts'
import type { PlacedObject } from './desired-objects.ts'
import type { Notice } from './notice.ts'

/** `assigned`: the cluster IPs it got because its manifest has none; empty if the range is used up. */
export function serviceNotices(
  { key, object, place }: PlacedObject,
  assigned: readonly string[] | undefined,
): readonly Notice[] {
  const spec = isJsonObject(object['spec']) ? object['spec'] : {}
  const say = (level: Notice['level'], message: string, fields = {}): Notice => ({
    level,
    message,
    fields: { service: key, place, ...fields },
  })
  if (spec['type'] === 'ExternalName') return [say('info', 'Service is a DNS name (ExternalName): nothing to proxy')]
  if (spec['clusterIP'] === 'None') return [say('info', 'Service is headless: nothing to proxy')]
  const notices: Notice[] = []
  if (assigned !== undefined && assigned.length > 0)
    notices.push(
      say('info', 'Service has no cluster IP in its manifest and gets one', { clusterIP: assigned.join(',') }),
    )
  if (assigned?.length === 0)
    notices.push(say('warn', 'Service has no cluster IP, and the service range has none left: write one'))
  const ports: readonly unknown[] = Array.isArray(spec['ports']) ? spec['ports'] : []
  if (ports.length === 0) notices.push(say('warn', 'Service has no ports: nothing to proxy'))
  if (spec['type'] === 'NodePort')
    for (const port of ports)
      if (isJsonObject(port) && (port['nodePort'] ?? 0) === 0)
        notices.push(
          say('warn', 'port has no nodePort, so nodes do not listen for it: write one', { port: port['port'] }),
        )
  return notices
}
