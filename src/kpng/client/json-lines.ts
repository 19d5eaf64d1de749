/** A batch of changes as lines of JSON, for backends in any language. Updates come before removals. */
import { isSameData } from '../../core/same-data.ts'
import { endpointLineJson, serviceLineJson } from './line-json.ts'
import type { ServiceChange } from './local-state.ts'

export interface Batch {
  /** The revision that the changes start from. Without it, they are the whole state. */
  readonly from: number | undefined
  readonly to: number
  readonly changes: Iterable<ServiceChange>
}

export function* batchLines({ from, to, changes }: Batch): Generator<string> {
  yield JSON.stringify({
    t: 'begin',
    ...(from === undefined ? { full: true } : { from: String(from) }),
    to: String(to),
  })
  const removals: object[] = []
  for (const { path, before, after } of changes) {
    if (after !== undefined && !isSameData(before?.service, after.service))
      yield JSON.stringify({ t: 'service', op: 'put', id: path, value: serviceLineJson(after.service) })
    for (const [key, endpoint] of after?.endpointsByKey ?? [])
      if (!isSameData(before?.endpointsByKey.get(key), endpoint))
        yield JSON.stringify({ t: 'endpoint', op: 'put', id: key, service: path, value: endpointLineJson(endpoint) })
    for (const key of before?.endpointsByKey.keys() ?? [])
      if (after?.endpointsByKey.has(key) !== true) removals.push({ t: 'endpoint', op: 'del', id: key, service: path })
    if (before !== undefined && after === undefined) removals.push({ t: 'service', op: 'del', id: path })
  }
  for (const removal of removals) yield JSON.stringify(removal)
  yield JSON.stringify({ t: 'commit', to: String(to) })
}
