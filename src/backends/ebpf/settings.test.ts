import { expect, test } from 'vitest'
import { families } from '../../net/ip.ts'
import { configFlags, mapSpecs } from './layout.ts'
import { currentNode, flagsOf } from './settings.ts'
import type { SocketSettings } from './settings.ts'
import { testSettings } from './testing/memory-node.ts'

test('a node with an address for each Service, as IPVS leaves it, has room in the map for its own', () => {
  const ofServices = (prefix: string) =>
    Array.from(
      { length: 3_000 },
      (_, index) => `${prefix}${index >> 8}${prefix.includes(':') ? ':' : '.'}${index & 255}`,
    )
  const ips = ['127.0.0.1', '192.0.2.10', '2001:db8::10', ...ofServices('10.96.'), ...ofServices('fd00::')]
  const nodes = families.map((family) => currentNode({ family, nodePortAddresses: [], localIps: () => ips }))
  expect(nodes.map(({ ownIps }) => ownIps.size)).toEqual([3_002, 3_001])
  expect(nodes.map(({ nodePortIps }) => nodePortIps.values().next().value)).toEqual(['192.0.2.10', '2001:db8::10'])
  const entries = nodes.reduce((sum, { nodePortIps }) => sum + nodePortIps.size, 0)
  expect(entries).toBeLessThanOrEqual(mapSpecs.node_addresses.maxEntries)
})

const { hostOnly, tcp, udpSend, udpConnect, udpConnectHostOnly, loopbackNodePorts, noPeerNames, reportStaleTcp } =
  configFlags
const usual = tcp | udpSend | udpConnect | loopbackNodePorts

test.each<readonly [Partial<SocketSettings>, number]>([
  [{}, usual],
  [{ scope: 'host' }, usual | hostOnly],
  [{ tcp: false }, usual & ~tcp],
  [{ udpSend: false }, usual & ~udpSend],
  [{ udpConnect: 'none' }, usual & ~udpConnect],
  [{ udpConnect: 'host' }, usual | udpConnectHostOnly],
  [{ loopbackNodePorts: false }, usual & ~loopbackNodePorts],
  [{ peerNames: false }, usual | noPeerNames],
  [{ endsTcp: true }, usual | reportStaleTcp],
])('programs are told %j', (settings, flags) => {
  expect(flagsOf({ ...testSettings, ...settings })).toBe(flags)
})
