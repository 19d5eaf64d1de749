/** Parameters that all writes have in common. */
import type { ResourceRequest } from './resource-request.ts'
import type { FieldError } from '../resource.ts'
import { invalid } from '../status.ts'

type WriteRequest = Pick<ResourceRequest, 'request' | 'query'>

/** `dryRun=All` is the only valid value. A deletion may also have it in its body. */
export function isDryRun({ request, query }: WriteRequest, inBody: readonly unknown[] = []): boolean {
  const given = [...query.getAll('dryRun'), ...inBody].filter((value) => value !== '')
  if (given.some((value) => value !== 'All')) throw refused(request, 'dryRun', given, ['All'])
  return given.length > 0
}

const fieldValidations = ['Ignore', 'Strict', 'Warn'] as const

/** What to do with fields that the kind does not have. */
export function fieldValidationOf({ request, query }: WriteRequest): (typeof fieldValidations)[number] {
  const given = query.get('fieldValidation') || 'Warn'
  const known = fieldValidations.find((one) => one === given)
  if (known === undefined) throw refused(request, 'fieldValidation', given, ['', ...fieldValidations])
  return known
}

const optionsKinds: Readonly<Record<string, string>> = {
  POST: 'CreateOptions',
  PUT: 'UpdateOptions',
  PATCH: 'PatchOptions',
  DELETE: 'DeleteOptions',
}

function refused(
  { method = '' }: WriteRequest['request'],
  field: string,
  given: unknown,
  supported: readonly string[],
): Error {
  const values = supported.map((value) => JSON.stringify(value)).join(', ')
  const message = `Unsupported value: ${JSON.stringify(given)}: supported values: ${values}`
  const error: FieldError = { field, reason: 'FieldValueNotSupported', message }
  return invalid({ group: 'meta.k8s.io', kind: optionsKinds[method] ?? 'CreateOptions' }, '', [error])
}
