import { existsSync, readFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../src/core/clock.ts'
import { addKpngCoreSeries, KpngServerSeries } from '../src/observe/metrics/kpng-metrics.ts'
import { MetricRegistry } from '../src/observe/metrics/prometheus.ts'
import { TemporaryFolder } from '../src/sources/kube/testing/temporary-folder.ts'
import { FairleadProcess } from './e2e/testing/fairlead-process.ts'
import { manifest, service } from './e2e/testing/objects.ts'

const page = readFileSync(new URL('../docs/kpng.md', import.meta.url), 'utf8')

test('docs/kpng.md lists every metric of a core and of who follows one, and no other', () => {
  const registry = new MetricRegistry()
  void new KpngServerSeries(registry)
  addKpngCoreSeries(registry, systemClock, () => ({ isConnected: false, reconnects: 0, lastContactMs: undefined }))
  expect(new Set(page.match(/fairlead_kpng_\w+/g))).toEqual(new Set(registry.familyNames))
})

test('docs/kpng.md shows the lines that a program gets', async () => {
  await using folder = await TemporaryFolder.make()
  const heard = join(folder.path, 'heard')
  const script = `tee ${heard} | sed -u -n 's/^{"t":"commit"/{"t":"ack"/p'`
  const web = service('web', 80, { clusterIP: '10.96.0.10', sessionAffinity: 'ClientIP' })
  await folder.write('web.yaml', manifest(web))
  await folder.write('slice.yaml', manifest(sliceOf('web-0', '10.1.0.1')))
  const options = ['--node-name=node-a', '-i', join(folder.path, 'web.yaml'), '-i', join(folder.path, 'slice.yaml')]
  await using exec = new FairleadProcess(['file', 'to-exec', ...options, '--', 'sh', '-c', script])
  const lines = () => (existsSync(heard) ? readFileSync(heard, 'utf8') : '')
  await expect.poll(lines, patiently).toContain('{"t":"commit","to":"1"}\n')
  // In one step: half a file would be a state of its own.
  await folder.write('slice.new', manifest(sliceOf('web-1', '10.1.0.2')))
  await rename(join(folder.path, 'slice.new'), join(folder.path, 'slice.yaml'))
  await expect.poll(lines, patiently).toContain('{"t":"commit","to":"2"}\n')
  exec.send('SIGTERM')
  expect(await exec.ended()).toEqual({ code: 0, signal: null })
  const [, example] = /```jsonl\n(.*?)```/s.exec(page) ?? []
  expect(lines()).toBe(example)
})

const patiently = { timeout: 25_000, interval: 20 }

function sliceOf(pod: string, ip: string) {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'default', name: 'web-abcde', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: [{ addresses: [ip], conditions: { ready: true }, targetRef: { kind: 'Pod', name: pod } }],
  }
}
