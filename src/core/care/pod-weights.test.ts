import { expect, test } from 'vitest'
import type { ObjectKey } from '../../api/records.ts'
import { Catalog } from '../catalog.ts'
import { slice } from '../testing/objects.ts'
import { PodWeights } from './pod-weights.ts'
import type { WeightedPod } from '../../api/parse-pod-weight.ts'

const pod = (name: string, weight: number, ...ips: string[]): WeightedPod => {
  const [namespace = ''] = name.split('/')
  return { key: name as ObjectKey, namespace, ips, weight }
}

function given(...slices: Parameters<Catalog['replace']>[1]) {
  const catalog = new Catalog()
  catalog.replace('EndpointSlice', slices as never)
  const weights = new PodWeights(catalog)
  const told: string[] = []
  weights.subscribe((service) => told.push(service))
  return { catalog, weights, told }
}

test('a pod weighs in the Services of its namespace that have its address, and they are told', () => {
  const { weights, told } = given(
    slice('shop/web-1', 'web', ['10.0.0.1', '10.0.0.2']),
    slice('shop/api-1', 'api', ['10.0.0.1']),
    slice('other/web-1', 'web', ['10.0.0.1']),
  )
  weights.set('shop/canary' as ObjectKey, pod('shop/canary', 5, '10.0.0.1', 'fd00::1'))
  expect(weights.weightOf('shop', '10.0.0.1')).toBe(5)
  expect(weights.weightOf('shop', 'fd00::1')).toBe(5)
  expect(weights.weightOf('other', '10.0.0.1')).toBeUndefined()
  expect(told.sort()).toEqual(['shop/api', 'shop/web'])
})

test('nobody is told of what changes nothing', () => {
  const { weights, told } = given(slice('shop/web-1', 'web', ['10.0.0.1']))
  weights.replace([pod('shop/canary', 5, '10.0.0.1')])
  weights.replace([pod('shop/canary', 5, '10.0.0.1')])
  expect(told).toEqual(['shop/web'])
})

test('a pod that is gone, or has another address, weighs no more', () => {
  const { weights, told } = given(slice('shop/web-1', 'web', ['10.0.0.1']), slice('shop/api-1', 'api', ['10.0.0.2']))
  weights.replace([pod('shop/canary', 5, '10.0.0.1')])
  weights.set('shop/canary' as ObjectKey, pod('shop/canary', 5, '10.0.0.2'))
  expect([weights.weightOf('shop', '10.0.0.1'), weights.weightOf('shop', '10.0.0.2')]).toEqual([undefined, 5])
  weights.replace([])
  expect(weights.isEmpty).toBe(true)
  expect(told).toEqual(['shop/web', 'shop/web', 'shop/api', 'shop/api'])
})

test('of pods that share an address, the first one counts, and the next one after it', () => {
  const { weights } = given(slice('shop/web-1', 'web', ['192.0.2.1']))
  weights.replace([pod('shop/a', 3, '192.0.2.1'), pod('shop/b', 7, '192.0.2.1')])
  expect(weights.weightOf('shop', '192.0.2.1')).toBe(3)
  weights.set('shop/a' as ObjectKey, undefined)
  expect(weights.weightOf('shop', '192.0.2.1')).toBe(7)
})

test('slices that come and go are followed', () => {
  const { catalog, weights, told } = given(slice('shop/web-1', 'web', ['10.0.0.1']))
  catalog.upsert(slice('shop/web-2', 'web', ['10.0.0.1']))
  catalog.remove('EndpointSlice', 'shop/web-1' as ObjectKey)
  weights.set('shop/canary' as ObjectKey, pod('shop/canary', 5, '10.0.0.1'))
  catalog.remove('EndpointSlice', 'shop/web-2' as ObjectKey)
  weights.set('shop/canary' as ObjectKey, undefined)
  expect(told).toEqual(['shop/web'])
})
