import { expect, test } from 'vitest'
import type { ObjectKey } from '../../api/records.ts'
import { Catalog } from '../../core/catalog.ts'
import { PodWeights } from '../../core/care/pod-weights.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { podWeightSink } from './pod-weight-sink.ts'

const rawPod = (
  name: string,
  label: unknown,
  status: object = { podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }] },
) => ({
  metadata: { namespace: 'shop', name, labels: { 'fairlead.dev/weight': label } },
  status,
})

function given() {
  const weights = new PodWeights(new Catalog())
  const log = new RecordingLogger()
  const sink = podWeightSink(weights, log)
  return { sink, log, weight: (ip = '10.0.0.1') => weights.weightOf('shop', ip), key: 'shop/a' as ObjectKey }
}

test('a pod with the label has its weight, at all its addresses', () => {
  const { sink, weight } = given()
  const status = { podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00:0::1' }] }
  sink.replace([sink.read(rawPod('a', '5', status))])
  expect([weight(), weight('fd00::1')]).toEqual([5, 5])
  sink.upsert(sink.read(rawPod('a', '0', status)))
  expect(weight()).toBe(0)
  sink.remove(sink.read(rawPod('a', '0', status)))
  expect(weight()).toBeUndefined()
})

test.each(['-1', '1001', 'heavy', '', undefined, 7])(
  '%j is no weight: told once, and the pod weighs as without',
  (label) => {
    const { sink, weight, log } = given()
    sink.upsert(sink.read(rawPod('a', '5')))
    sink.upsert(sink.read(rawPod('a', label)))
    sink.upsert(sink.read(rawPod('a', label)))
    expect(weight()).toBeUndefined()
    expect(
      log.lines.filter(({ fields }) => String(fields['reason']).includes('must be a weight from 0 to 1000')),
    ).toHaveLength(1)
  },
)

test('what is no pod, or has no address yet, changes nothing', () => {
  const { sink, weight } = given()
  for (const raw of [null, {}, { metadata: { name: 'a' } }, rawPod('a', '5', {}), rawPod('a', '5', { podIP: 'x' })])
    sink.upsert(sink.read(raw))
  expect(weight()).toBeUndefined()
})

test.each(['Succeeded', 'Failed'])('a pod that is %s weighs nobody who has its address now', (phase) => {
  const { sink, weight } = given()
  const status = { podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }] }
  sink.replace([sink.read(rawPod('done', '0', { ...status, phase })), sink.read(rawPod('next', '7', status))])
  expect(weight()).toBe(7)
  sink.upsert(sink.read(rawPod('next', '7', { ...status, phase })))
  expect(weight()).toBeUndefined()
})
