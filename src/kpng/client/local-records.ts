/**
 * Reads and checks what a server says about a node. It may be wrong or malicious, and what it says ends up in rules,
 * configuration files and terminals.
 */
import { shownValue } from '../../net/shown-value.ts'
import { KpngError } from '../kpng-error.ts'
import { endpointKey } from '../model/field-rules.ts'
import { recordProblem } from '../model/record-problem.ts'
import type { RecordProblem } from '../model/record-problem.ts'
import { endpointShape, serviceShape } from '../model/state-shape.ts'
import { Endpoint, Service, Set as Sets } from '../proto/generated/localv1/api.ts'
import { isServicePath, parseEndpointPath } from '../wire/paths.ts'
import type { ChangeSet } from './change-set.ts'

export type LocalRecord =
  | { readonly kind: 'service'; readonly service: string; readonly read: Read<Service> }
  | { readonly kind: 'endpoint'; readonly service: string; readonly key: string; readonly read: Read<Endpoint> }

type Read<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: RecordProblem }

/** Throws a KpngError for an invalid path. */
export function* readSets(sets: ChangeSet['sets']): Generator<LocalRecord> {
  for (const { Ref: ref, Bytes } of sets) {
    if (ref?.Set === Sets.ServicesSet) {
      const service = checkedServicePath(ref.Path)
      const [Namespace = '', Name = ''] = service.split('/')
      const value = { ...Service.decode(Bytes), Namespace, Name }
      yield { kind: 'service', service, read: readOf(value, recordProblem(value, serviceShape)) }
    } else if (ref?.Set === Sets.EndpointsSet) {
      const path = checkedEndpointPath(ref.Path)
      const value = Endpoint.decode(Bytes)
      const problem = keyProblem(path.key) ?? recordProblem(value, endpointShape)
      yield { kind: 'endpoint', ...path, read: readOf(value, problem) }
    }
  }
}

export function checkedServicePath(path: string): string {
  if (isServicePath(path)) return path
  throw new KpngError('protocol', `the server sent a Service at ${shownValue(path)}, which is not namespace/name`)
}

export function checkedEndpointPath(path: string): { readonly service: string; readonly key: string } {
  const parsed = parseEndpointPath(path)
  if (parsed !== undefined) return parsed
  throw new KpngError(
    'protocol',
    `the server sent an endpoint at ${shownValue(path)}, which is not namespace/service/key`,
  )
}

function readOf<T>(value: T, problem: RecordProblem | undefined): Read<T> {
  return problem === undefined ? { ok: true, value } : { ok: false, problem }
}

/** The name of a Service is checked with the Service; endpoints without a Service are not used. */
function keyProblem(key: string): RecordProblem | undefined {
  const wanted = endpointKey(key)
  return wanted === undefined ? undefined : { path: [], reason: `must have ${wanted} at the end of its path` }
}
