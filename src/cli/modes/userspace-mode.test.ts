import { expect, test } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import type { Logger } from '../../core/logger.ts'
import type { ModeContext, NodeAtHand } from './mode.ts'
import { portalMode } from './portal-mode.ts'
import { userspaceMode } from './userspace-mode.ts'

const node: NodeAtHand = { ip: '192.0.2.1', platform: 'linux', isRoot: true }

test('as root on a node the mode uses portals, and says so', () => {
  const { mode, said } = onNode(node)
  expect(mode).toBe(portalMode)
  expect(said).toEqual([['kernel rules send traffic for Services to this process', { nodeIP: '192.0.2.1' }]])
})

test.each([
  ['not running as root', { ...node, isRoot: false }],
  ["the node's address is 127.0.0.1", { ...node, ip: '127.0.0.1' }],
  ["the node's address 192.0.2.9 is not an address of this machine", { ...node, ip: '192.0.2.9' }],
  ['only Linux has the rules for other addresses', { ...node, platform: 'darwin' }],
] as const)('it stays on loopback and says why: %s', (reason, at) => {
  const { mode, said } = onNode(at)
  expect(mode).toBeUndefined()
  expect(said).toEqual([['Services are served on loopback only', { reason }]])
})

function onNode(at: NodeAtHand) {
  const said: unknown[] = []
  const log: Logger = { ...silentLogger, info: (...line) => said.push(line) }
  const context = { localIps: () => ['127.0.0.1', '192.0.2.1'], log } as unknown as ModeContext
  return { mode: userspaceMode.onNode?.(at, context), said }
}
