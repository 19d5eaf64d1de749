import { expect, test } from 'vitest'
import { listenFailure } from './listen-failure.ts'

test('what to do about a port that the system keeps to itself depends on the system', () => {
  const refused = Object.assign(new Error('bind EACCES'), { code: 'EACCES' })
  const told = (platform: NodeJS.Platform) => {
    const result = listenFailure({ address: { ip: '10.96.0.10', port: 53 }, protocol: 'UDP' }, refused, platform)
    return result.ok ? 'it listens' : result.message
  }
  expect(told('linux')).toContain('ports below 1024 (here 53) need root')
  expect(told('win32')).toContain('netsh interface ipv4 show excludedportrange protocol=udp')
})
