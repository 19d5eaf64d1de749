/** The OpenAPI documents of the embedded API server. kubectl reads them for `explain`, `apply` and validation. */
import type { ResourceType } from '../resource.ts'
import { allResources } from '../resources/all-resources.ts'
import type { PathDialect } from './paths.ts'
import { patchMediaTypes, pathsOf } from './paths.ts'
import type { Dialect, OpenApi } from './schema-definitions.ts'
import { definitionsOf, reference } from './schema-definitions.ts'

const info = { title: 'Kubernetes', version: 'fairlead' }

export function openApiV2(): OpenApi {
  const dialect: Dialect = { prefix: '#/definitions/', isWrapped: false }
  return {
    swagger: '2.0',
    info,
    paths: Object.assign({}, ...allResources.map((resource) => pathsOf(resource, v2Paths(dialect)))) as OpenApi,
    definitions: definitionsOf(
      allResources.map(({ schema }) => schema),
      dialect,
    ),
  }
}

export function openApiV3Index(): OpenApi {
  const paths = groupVersions().map((groupVersion) => {
    // kubectl keeps documents on disk by their address, so the address must change with the content.
    const hash = fingerprint(JSON.stringify(openApiV3(groupVersion)))
    return [groupVersion, { serverRelativeURL: `/openapi/v3/${groupVersion}?hash=${hash}` }] as const
  })
  return { paths: Object.fromEntries(paths) }
}

/** The document of `api/v1` or `apis/discovery.k8s.io/v1`. */
export function openApiV3(groupVersion: string): OpenApi | undefined {
  const dialect: Dialect = { prefix: '#/components/schemas/', isWrapped: true }
  const resources = allResources.filter((resource) => groupVersionOf(resource) === groupVersion)
  if (resources.length === 0) return undefined
  return {
    openapi: '3.0.0',
    info,
    paths: Object.assign({}, ...resources.map((resource) => pathsOf(resource, v3Paths(dialect)))) as OpenApi,
    components: {
      schemas: definitionsOf(
        resources.map(({ schema }) => schema),
        dialect,
      ),
    },
  }
}

function groupVersions(): string[] {
  return [...new Set(allResources.map(groupVersionOf))]
}

function groupVersionOf({ group, version }: ResourceType): string {
  return group === '' ? `api/${version}` : `apis/${group}/${version}`
}

function v2Paths(dialect: Dialect): PathDialect {
  const schemaOf = (name: string | undefined): OpenApi =>
    name === undefined ? { type: 'object' } : reference(name, dialect)
  return {
    queryParameter: (name, type, description) => ({ name, in: 'query', description, type, uniqueItems: true }),
    pathParameter: (name, description) => ({ name, in: 'path', required: true, description, type: 'string' }),
    body: () => ({ consumes: ['application/json', ...patchMediaTypes] }),
    response: (name) => ({ description: 'OK', schema: schemaOf(name) }),
  }
}

function v3Paths(dialect: Dialect): PathDialect {
  const schemaOf = (name: string | undefined): OpenApi =>
    name === undefined ? { type: 'object' } : reference(name, dialect)
  return {
    queryParameter: (name, type, description) => ({ name, in: 'query', description, schema: { type } }),
    pathParameter: (name, description) => ({
      name,
      in: 'path',
      required: true,
      description,
      schema: { type: 'string' },
    }),
    body: (name) => {
      const mediaTypes = name === undefined ? patchMediaTypes : ['application/json']
      const content = mediaTypes.map((type) => [type, { schema: schemaOf(name) }] as const)
      return { requestBody: { required: true, content: Object.fromEntries(content) } }
    },
    response: (name) => ({ description: 'OK', content: { 'application/json': { schema: schemaOf(name) } } }),
  }
}

/** FNV-1a: short, and good enough to tell two releases apart. */
function fingerprint(text: string): string {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0
  return hash.toString(16).toUpperCase().padStart(8, '0')
}
