import { describe, expect, test } from 'vitest'
import type { ApiObject } from '../resource.ts'
import { namespaces } from '../resources/namespace.ts'
import { services } from '../resources/service.ts'
import { parseFieldSelector } from './selector-fields.ts'
import { parseLabelSelector } from './selector-labels.ts'

describe('a label selector', () => {
  test.each([
    ['a', { a: '' }, true],
    ['!a', { a: '' }, false],
    ['a!=1', {}, true],
    ['a notin (1, 2)', {}, true],
    ['a in (1,)', { a: '' }, true],
    ['size>5,size<10', { size: '7' }, true],
    ['size>5', { size: 'many' }, false],
    ['example.com/role = web , !gone', { 'example.com/role': 'web' }, true],
    ['in in (in)', { in: 'in' }, true],
    // Names that every JavaScript object inherits must not count as labels.
    ['constructor', {}, false],
    ['!toString', {}, true],
  ])('%s on %j gives %s', (text, labels, expected) => {
    expect(parseLabelSelector(text)?.(labels as Record<string, string>)).toBe(expected)
  })

  test('that is empty asks for nothing', () => {
    expect(parseLabelSelector(' ')).toBeUndefined()
  })

  test.each(['a=1,', 'a in', 'a in (1', 'a in 1', 'a b', '=1', '!', 'a>x', 'a=$', '/x', 'a,,b', 'a=1 b=2'])(
    '"%s" is refused',
    (text) => {
      expect(() => parseLabelSelector(text)).toThrow(/^unable to parse requirement: /)
    },
  )
})

describe('a field selector', () => {
  const service: ApiObject = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { clusterIP: 'None', type: 'a,b=c' },
  }

  test.each([
    ['metadata.namespace=shop,metadata.name!=api', true],
    ['spec.clusterIP!=None', false],
    [String.raw`spec.type=a\,b\=c`, true],
    ['metadata.name=', false],
  ])('%s gives %s', (text, expected) => {
    expect(parseFieldSelector(text, services)?.matches(service)).toBe(expected)
  })

  test('knows when only one name can match', () => {
    expect(parseFieldSelector('metadata.name=web', services)?.name).toBe('web')
    expect(parseFieldSelector('metadata.name!=web', services)?.name).toBeUndefined()
  })

  test('is refused for a field that cannot be selected by, or that is no selector', () => {
    expect(() => parseFieldSelector('spec.ports=1', services)).toThrow('field label not supported: spec.ports')
    expect(() => parseFieldSelector('metadata.namespace=x', namespaces)).toThrow(/metadata\.namespace/)
    expect(() => parseFieldSelector('nonsense', services)).toThrow(/^invalid selector/)
  })
})
