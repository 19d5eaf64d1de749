import { describe, expect, test } from 'vitest'
import { allResources } from '../resources/all-resources.ts'
import { openApiV2, openApiV3, openApiV3Index } from './documents.ts'

/** Every `$ref` in a document. */
function references(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' ? [inner] : references(inner),
  )
}

function lookUp(document: object, reference: string): unknown {
  return reference
    .replace('#/', '')
    .split('/')
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], document)
}

const groupVersions = ['api/v1', 'apis/discovery.k8s.io/v1', 'apis/events.k8s.io/v1', 'apis/networking.k8s.io/v1']

describe('the OpenAPI documents', () => {
  test('point only at definitions that they have', () => {
    const documents = [openApiV2(), ...groupVersions.map((groupVersion) => openApiV3(groupVersion) ?? {})]
    for (const document of documents) {
      const found = references(document)
      expect(found.length).toBeGreaterThan(0)
      expect(found.filter((reference) => lookUp(document, reference) === undefined)).toEqual([])
    }
  })

  test('list each group and version under an address that changes with the content', () => {
    const { paths } = openApiV3Index() as { paths: Record<string, { serverRelativeURL: string }> }
    expect(Object.keys(paths).sort()).toEqual(groupVersions)
    expect(paths['api/v1']?.serverRelativeURL).toMatch(/^\/openapi\/v3\/api\/v1\?hash=[0-9A-F]{8}$/)
    expect(openApiV3('apis/apps/v1')).toBeUndefined()
  })

  test('tell kubectl that patches are validated and can be tried without effect', () => {
    for (const resource of allResources) {
      const groupVersion = resource.group === '' ? 'api/v1' : `apis/${resource.group}/v1`
      const scope = resource.isNamespaced ? 'namespaces/{namespace}/' : ''
      expect(openApiV3(groupVersion)).toHaveProperty(
        ['paths', `/${groupVersion}/${scope}${resource.plural}/{name}`, 'patch'],
        expect.objectContaining({
          'x-kubernetes-group-version-kind': { group: resource.group, version: 'v1', kind: resource.kind },
          parameters: expect.arrayContaining([
            expect.objectContaining({ name: 'fieldValidation', in: 'query' }),
            expect.objectContaining({ name: 'dryRun', in: 'query' }),
          ]) as unknown[],
        }),
      )
    }
  })

  test('say how lists merge', () => {
    expect(openApiV2()).toHaveProperty(
      ['definitions', 'io.k8s.api.core.v1.ServiceSpec', 'properties', 'ports'],
      expect.objectContaining({
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['port', 'protocol'],
        'x-kubernetes-patch-merge-key': 'port',
        'x-kubernetes-patch-strategy': 'merge',
      }),
    )
  })
})
