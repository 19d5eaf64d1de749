/** Pod CIDRs that the Node gets after the start: what asks for them gets the new ones, without a restart. */
import { expect, test } from 'vitest'
import { Catalog } from '../../core/catalog.ts'
import { ProxyHealth } from '../../core/health/proxy-health.ts'
import { testNode } from '../../core/testing/nodes.ts'
import { nodeGuard } from './node-guard.ts'
import { NodeSettings } from './node-settings.ts'
import { memoryDaemon } from './testing/memory-daemon.ts'

const given = (...podCIDRs: readonly string[]) =>
  testNode({ name: 'here', ips: ['192.0.2.1'], podCIDRs: [...podCIDRs] })

test('they are taken when they come, kept while a Node is registered anew, and told', async () => {
  const daemon = await memoryDaemon()
  const { config, host, log } = daemon
  const catalog = new Catalog()
  catalog.replace('Node', [given()])
  const node = { name: 'here', record: given() }
  const addresses = { ips: ['192.0.2.1'], primaryFamily: 'ipv4' } as const
  const settings = new NodeSettings(daemon, { ...node, addresses } as never)
  const first = settings.adopt('ipv4')
  const health = new ProxyHealth({ clock: host.clock, timeoutMs: () => 1000 })
  const taken: (readonly string[])[] = []
  const usePodCIDRs = (podCIDRs: readonly string[]) => {
    taken.push(podCIDRs)
    settings.usePodCIDRs(podCIDRs)
  }
  const ending = new AbortController()
  const running = nodeGuard({ catalog, node, config, health, usePodCIDRs, log }).run(ending.signal)

  catalog.replace('Node', [given('10.64.1.0/24')])
  expect(taken).toEqual([['10.64.1.0/24']])
  // A sync that has begun goes on with what it began with.
  expect(settings.of('ipv4')).toBe(first)
  expect(settings.adopt('ipv4').podCIDRs).toEqual(['10.64.1.0/24'])
  expect(settings.now()).toBe(settings.now())
  catalog.replace('Node', [given()])
  catalog.replace('Node', [given('10.64.1.0/24')])
  expect(taken).toHaveLength(1)
  catalog.replace('Node', [given('10.64.2.0/24')])
  expect(taken.at(-1)).toEqual(['10.64.2.0/24'])
  expect(log.lines.filter(({ message }) => message === 'the Node has other pod CIDRs now')).toHaveLength(2)
  ending.abort()
  await running
})
