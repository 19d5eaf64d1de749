import { expect, test } from 'vitest'
import { MemorySysctl } from './memory-sysctl.ts'
import { sysctlContract } from './sysctl.contract.ts'

sysctlContract('MemorySysctl', () => Promise.resolve(new MemorySysctl({ 'net/ipv4/ip_default_ttl': '64' })))

test('MemorySysctl can refuse every write, as a read-only mount does, and changes nothing then', async () => {
  const sysctl = new MemorySysctl({ 'net/ipv4/ip_default_ttl': '64' })
  sysctl.refuseWith = 'read-only'
  await expect(sysctl.write('net/ipv4/ip_default_ttl', '1')).rejects.toMatchObject({ reason: 'read-only' })
  expect(await sysctl.read('net/ipv4/ip_default_ttl')).toBe('64')
  expect(sysctl.writes).toEqual([])
})
