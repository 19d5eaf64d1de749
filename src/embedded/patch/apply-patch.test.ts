import { expect, test } from 'vitest'
import type { ApiObject } from '../resource.ts'
import { services } from '../resources/service.ts'
import type { PatchRequest } from './apply-patch.ts'
import { applyPatch } from './apply-patch.ts'

const current: ApiObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'demo' },
  spec: { ports: [{ port: 80 }] },
}

function request(contentType: string, body: unknown, more: Partial<PatchRequest> = {}): PatchRequest {
  return { contentType: `application/${contentType}`, body, current, resource: services, query: {}, nowMs: 0, ...more }
}

test('each format reads the same list in its own way', () => {
  const body = { spec: { ports: [{ port: 443 }] } }
  const ports = (contentType: string, patch: unknown): unknown => {
    const result = applyPatch(request(contentType, patch))
    return result.ok && (result.object['spec'] as { ports: unknown }).ports
  }
  expect(ports('merge-patch+json', body)).toEqual([{ port: 443 }])
  expect(ports('strategic-merge-patch+json', body)).toEqual([{ port: 443 }, { port: 80 }])
  expect(ports('json-patch+json', [{ op: 'replace', path: '/spec/ports/0/port', value: 443 }])).toEqual([{ port: 443 }])
})

test('what cannot be applied gets the answer a real server gives', () => {
  const refusal = (given: PatchRequest): unknown => {
    const result = applyPatch(given)
    return result.ok ? 'accepted' : [result.code, result.reason]
  }
  const merge = 'merge-patch+json'
  expect(refusal(request(merge, {}, { current: undefined }))).toEqual([404, 'NotFound'])
  expect(refusal(request(merge, []))).toEqual([400, 'BadRequest'])
  expect(refusal(request(merge, {}, { query: { force: true } }))).toEqual([422, 'Invalid'])
  expect(refusal(request('json', {}))).toEqual([415, 'UnsupportedMediaType'])
  expect(refusal(request('json-patch+json', [{ op: 'test', path: '/kind', value: 'x' }]))).toEqual([422, 'Invalid'])
  expect(refusal(request('json-patch+json', [{ op: 'replace', path: '', value: 1 }]))).toEqual([400, 'BadRequest'])
})
