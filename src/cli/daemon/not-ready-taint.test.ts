import { afterEach, beforeEach, expect, test } from 'vitest'
import { Catalog } from '../../core/catalog.ts'
import { systemClock } from '../../core/clock.ts'
import type { Clock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import { record } from '../../core/testing/objects.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { startApiServer } from '../../embedded/api-server.ts'
import type { ApiServer } from '../../embedded/api-server.ts'
import { allResources } from '../../embedded/resources/all-resources.ts'
import { loadKubeAccess } from '../../sources/kube/access/kube-access.ts'
import { KubeClient } from '../../sources/kube/kube-client.ts'
import { NotReadyTaint, notReadyTaint } from './not-ready-taint.ts'

const never = new AbortController().signal
const ours = (effect: string) => ({ key: notReadyTaint, effect })
const gpu = { key: 'example.com/gpu', value: 'yes', effect: 'NoSchedule' }
const slow = { key: 'example.com/slow', effect: 'NoExecute' }
const soon = { timeout: 10_000, interval: 20 }

let server: ApiServer
let client: KubeClient
beforeEach(async () => {
  server = await startApiServer({
    resources: allResources,
    clock: systemClock,
    log: silentLogger,
    host: '127.0.0.1',
    port: 0,
  })
  client = new KubeClient({ access: await loadKubeAccess({ master: server.url }), version: '1', qps: -1 })
})
afterEach(async () => {
  await client[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** Its pauses are short, and in the same order. */
const hasty: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic(),
  sleep: (ms, signal) => systemClock.sleep(ms / 20, signal),
}

const nodes = '/api/v1/nodes'

async function taints(): Promise<unknown> {
  const { spec } = (await client.request({ path: `${nodes}/n1` }, never)) as { spec?: { taints?: unknown } }
  return spec?.taints ?? []
}

/** On a Node with these taints; `seen` are those that the watch has told so far. */
async function removing(all: readonly object[], { seen = all, isReady = true, isProgrammedLive = true } = {}) {
  await client.request(
    { method: 'POST', path: nodes, body: { metadata: { name: 'n1' }, spec: { taints: all } } },
    never,
  )
  const catalog = new Catalog()
  const watch = (told: readonly object[]) =>
    catalog.upsert(record('Node', { metadata: { name: 'n1' }, spec: { taints: told } }))
  watch(seen)
  const [ready, live, stop] = [new AbortController(), new AbortController(), new AbortController()]
  if (isReady) ready.abort()
  if (isProgrammedLive) live.abort()
  const asked: string[] = []
  const log = new RecordingLogger()
  const readiness = { ready: ready.signal, live: live.signal }
  const askForSync = (cause: string) => void asked.push(cause)
  const options = { client, catalog, nodeName: 'n1', readiness, isLive: () => true, askForSync, clock: hasty, log }
  const running = new NotReadyTaint(options).run(stop.signal)
  return {
    watch,
    ready,
    live,
    asked,
    log,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}

test('both effects go, and nothing else', async () => {
  await using it = await removing([ours('NoSchedule'), gpu, ours('NoExecute'), slow])
  await expect.poll(taints, soon).toEqual([gpu, slow])
  expect(it.log.at('error')).toEqual([])
})

test('it stays until every family is programmed', async () => {
  await using it = await removing([ours('NoSchedule')], { isReady: false })
  expect(await taints()).toEqual([ours('NoSchedule')])
  it.ready.abort()
  await expect.poll(taints, soon).toEqual([])
})

test('saved state is not enough: a sync of what the API server says now is asked for, and has to end', async () => {
  await using it = await removing([ours('NoSchedule')], { isProgrammedLive: false })
  await expect.poll(() => it.asked, soon).toEqual(['the first lists have arrived'])
  expect(await taints()).toEqual([ours('NoSchedule')])
  it.live.abort()
  await expect.poll(taints, soon).toEqual([])
})

test('a patch that is refused again and again is told', async () => {
  await using it = await removing([gpu, ours('NoSchedule')], { seen: [ours('NoSchedule')] })
  await expect
    .poll(() => it.log.at('warn').map(({ message }) => message), soon)
    .toContain('the API server refuses again and again to remove the taint; will be retried')
  const early = it.log.lines.filter(({ message }) => message.includes('have just changed'))
  expect(early).toHaveLength(2)
})

test('when the taints have changed meanwhile, no other one is removed in its place', async () => {
  const all = [gpu, slow, ours('NoSchedule')]
  await using it = await removing(all, { seen: [ours('NoSchedule')] })
  await expect
    .poll(() => it.log.lines.map(({ message }) => message), soon)
    .toContain('the taints of the Node have just changed, trying again')
  expect(await taints()).toEqual(all)
  it.watch(all)
  await expect.poll(taints, soon).toEqual([gpu, slow])
})

test('a Node that gets it again loses it again', async () => {
  await using it = await removing([gpu])
  await client.request(
    {
      method: 'PATCH',
      path: `${nodes}/n1`,
      contentType: 'application/merge-patch+json',
      body: { spec: { taints: [gpu, ours('NoExecute')] } },
    },
    never,
  )
  it.watch([gpu, ours('NoExecute')])
  await expect.poll(taints, soon).toEqual([gpu])
})
