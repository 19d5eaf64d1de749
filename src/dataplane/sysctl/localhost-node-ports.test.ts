import { expect, test } from 'vitest'
import { routeLocalnet } from './localhost-node-ports.ts'
import { MemorySysctl } from './memory-sysctl.ts'

test('routing from loopback is switched on once', async () => {
  const sysctl = new MemorySysctl({ 'net/ipv4/conf/all/route_localnet': '0' })
  await routeLocalnet(sysctl)
  await routeLocalnet(sysctl)
  expect(sysctl.writes).toEqual(['net/ipv4/conf/all/route_localnet=1'])
})
