import { expect, test } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import type { Logger } from '../../core/logger.ts'
import { memoryHost } from '../host/testing/memory-host.ts'
import type { MemoryHostOptions } from '../host/testing/memory-host.ts'
import type { ModeContext } from './mode.ts'
import { userspaceMode } from './userspace-mode.ts'
import { linuxRules, loopbackSockets } from './workings.ts'

test('as root on a node the mode uses portals, and says so', () => {
  const { mode, said } = onNode('192.0.2.1')
  expect(mode).toMatchObject(linuxRules)
  expect(said).toEqual([['kernel rules send traffic for Services to this process', { nodeIP: '192.0.2.1' }]])
})

test.each<[string, string, MemoryHostOptions]>([
  ['not running as root', '192.0.2.1', { process: { isRoot: false } }],
  ["the node's address is 127.0.0.1", '127.0.0.1', {}],
  ["the node's address 192.0.2.9 is not an address of this machine", '192.0.2.9', {}],
  ['only Linux has the rules for other addresses', '192.0.2.1', { platform: 'darwin' }],
])('it stays on loopback and says why: %s', (reason, nodeIp, options) => {
  const { mode, said } = onNode(nodeIp, options)
  expect(mode).toMatchObject(loopbackSockets)
  expect(said).toEqual([['Services are served on loopback only', { reason }]])
})

function onNode(nodeIp: string, options: MemoryHostOptions = {}) {
  const said: unknown[] = []
  const log: Logger = { ...silentLogger, info: (...line) => said.push(line) }
  const host = memoryHost(options)
  const context = { host, nodeIp, localIps: () => ['127.0.0.1', '192.0.2.1'], log } as unknown as ModeContext
  return { mode: userspaceMode.onNode(context), said }
}
