/** The paths of a resource, as far as kubectl reads them: which kind a path is about, and which parameters it takes. */
import type { ResourceType } from '../resource.ts'
import type { OpenApi } from './schema-definitions.ts'

/** What OpenAPI 2 and 3 write differently. */
export interface PathDialect {
  queryParameter(name: string, type: 'string' | 'boolean' | 'integer', description: string): OpenApi
  pathParameter(name: string, description: string): OpenApi
  body(schemaName: string | undefined): OpenApi
  response(schemaName: string | undefined): OpenApi
}

const patchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
] as const

export function pathsOf(resource: ResourceType, dialect: PathDialect): Record<string, OpenApi> {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`
  const collection = resource.isNamespaced
    ? `${root}/namespaces/{namespace}/${resource.plural}`
    : `${root}/${resource.plural}`
  const item = `${collection}/{name}`
  return {
    ...(resource.isNamespaced
      ? { [`${root}/${resource.plural}`]: { get: operation('list', [], resource, dialect) } }
      : {}),
    [collection]: {
      ...pathParameters(resource, dialect, false),
      get: operation('list', [], resource, dialect),
      post: {
        ...operation('post', writeParameters(dialect), resource, dialect),
        ...dialect.body(resource.schema.name),
      },
      delete: operation('deletecollection', [], resource, dialect),
    },
    [item]: { ...pathParameters(resource, dialect, true), ...itemOperations(resource, dialect) },
    ...(resource.hasStatus
      ? { [`${item}/status`]: { ...pathParameters(resource, dialect, true), ...itemOperations(resource, dialect) } }
      : {}),
  }
}

export const patchMediaTypes: readonly string[] = patchTypes

function itemOperations(resource: ResourceType, dialect: PathDialect): OpenApi {
  const write = writeParameters(dialect)
  const force = dialect.queryParameter(
    'force',
    'boolean',
    'Take over fields that another manager owns. For apply patches.',
  )
  return {
    get: operation('get', [], resource, dialect),
    put: { ...operation('put', write, resource, dialect), ...dialect.body(resource.schema.name) },
    patch: { ...operation('patch', [...write, force], resource, dialect), ...dialect.body(undefined) },
    delete: operation('delete', [dryRun(dialect)], resource, dialect),
  }
}

function operation(
  action: string,
  parameters: readonly OpenApi[],
  resource: ResourceType,
  dialect: PathDialect,
): OpenApi {
  return {
    description: `${action} ${resource.plural}`,
    parameters,
    responses: {
      200: dialect.response(action.includes('list') || action.includes('delete') ? undefined : resource.schema.name),
    },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': resource.schema.kind,
  }
}

function writeParameters(dialect: PathDialect): OpenApi[] {
  return [
    dryRun(dialect),
    dialect.queryParameter('fieldManager', 'string', 'Who makes the change.'),
    dialect.queryParameter('fieldValidation', 'string', 'What to do with unknown fields: Ignore, Warn or Strict.'),
  ]
}

function dryRun(dialect: PathDialect): OpenApi {
  return dialect.queryParameter('dryRun', 'string', '"All": answer as if it were done, and do nothing.')
}

function pathParameters(resource: ResourceType, dialect: PathDialect, hasName: boolean): OpenApi {
  const parameters = [
    ...(hasName ? [dialect.pathParameter('name', `name of the ${resource.kind}`)] : []),
    ...(resource.isNamespaced ? [dialect.pathParameter('namespace', 'the namespace of the object')] : []),
  ]
  return parameters.length === 0 ? {} : { parameters }
}
