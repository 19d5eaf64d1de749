import { expect, test } from 'vitest'
import { PodWeights } from '../../core/care/pod-weights.ts'
import { Catalog } from '../../core/catalog.ts'
import { silentLogger } from '../../core/logger.ts'
import { awaitedPodSink } from './cluster-source.ts'

const drained = {
  metadata: { namespace: 'shop', name: 'canary', labels: { 'fairlead.dev/weight': '0' } },
  status: { podIP: '10.0.0.1' },
}

function given() {
  const catalog = new Catalog({ awaitsPods: true })
  const weights = new PodWeights(catalog)
  const sink = awaitedPodSink(weights, catalog, silentLogger)
  for (const kind of ['Service', 'EndpointSlice'] as const) catalog.replace(kind, [])
  return { catalog, weights, sink }
}

test('nothing is programmed before the first list of pods is in', () => {
  const { catalog, weights, sink } = given()
  expect(catalog.isInitialised).toBe(false)
  catalog.subscribe({ changed() {}, listed: () => expect(weights.weightOf('shop', '10.0.0.1')).toBe(0) })
  sink.replace([sink.read(drained)])
  expect(catalog.isInitialised).toBe(true)
  expect(weights.weightOf('shop', '10.0.0.1')).toBe(0)
})

test('who may not read pods does not wait for them', () => {
  const { catalog, sink } = given()
  sink.forbidden?.()
  expect(catalog.isInitialised).toBe(true)
})
