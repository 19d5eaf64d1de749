import { expect, test } from 'vitest'
import { Catalog } from '../../core/catalog.ts'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import { ProxyHealth } from '../../core/health/proxy-health.ts'
import { findNode } from './node-at-start.ts'
import { nodeGuard } from './node-guard.ts'

/** Whoever only waits for the event of an ended signal waits for ever. */
const ended = AbortSignal.abort(new Error('stopped by SIGTERM'))
const nodeName = 'here'

test('a process that is told to end before its Node is listed does not wait for it', async () => {
  const options = {
    catalog: new Catalog(),
    nodeName,
    nodeAddresses: [],
    isFromFiles: false,
    isNodeCidrMode: false,
    clock: systemClock,
    log: silentLogger,
  }
  await expect(findNode(options, ended)).rejects.toThrow('stopped by SIGTERM')
})

test('a process that is told to end while the proxy is being set up does not watch its Node any more', async () => {
  const health = new ProxyHealth({ clock: systemClock, timeoutMs: 1000 })
  const options = { catalog: new Catalog(), nodeName, node: undefined, isNodeCidrMode: false, health }
  await expect(nodeGuard({ ...options, log: silentLogger }).run(ended)).resolves.toBeUndefined()
})
