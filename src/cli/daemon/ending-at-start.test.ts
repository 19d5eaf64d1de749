import { expect, test } from 'vitest'
import { Catalog } from '../../core/catalog.ts'
import { ProxyHealth } from '../../core/health/proxy-health.ts'
import { findNode } from './node-at-start.ts'
import { nodeGuard } from './node-guard.ts'
import { memoryDaemon } from './testing/memory-daemon.ts'

/** Whoever only waits for the event of an ended signal waits for ever. */
const ended = AbortSignal.abort(new Error('stopped by SIGTERM'))

test('a process that is told to end before its Node is listed does not wait for it', async () => {
  const cluster = { nodeName: 'here', catalog: new Catalog() }
  await expect(findNode(await memoryDaemon(), cluster, ended)).rejects.toThrow('stopped by SIGTERM')
})

test('a process that is told to end while the proxy is being set up does not watch its Node any more', async () => {
  const { config, host, log } = await memoryDaemon()
  const health = new ProxyHealth({ clock: host.clock, timeoutMs: () => 1000 })
  const node = { name: 'here', record: undefined }
  const guard = nodeGuard({ catalog: new Catalog(), node, config, health, usePodCIDRs: () => {}, log })
  await expect(guard.run(ended)).resolves.toBeUndefined()
})
