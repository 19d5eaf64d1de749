import { expect, test } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { memoryHost } from '../host/testing/memory-host.ts'
import { apiServerAddresses } from './api-server-addresses.ts'

test.each([
  ['https://10.96.0.1', [{ ip: '10.96.0.1', port: 443 }]],
  ['https://10.96.0.1:6443/prefix', [{ ip: '10.96.0.1', port: 6443 }]],
  ['http://192.0.2.1', [{ ip: '192.0.2.1', port: 80 }]],
  ['https://[fd00:0::1]:6443', [{ ip: 'fd00::1', port: 6443 }]],
])('%s', async (url, addresses) => {
  expect(await apiServerAddresses(new URL(url), memoryHost(), silentLogger)).toEqual(addresses)
})

test('a name stands for all addresses that it has', async () => {
  const host = memoryHost({ lookup: (name) => Promise.resolve(name === 'api' ? ['192.0.2.1', 'fd00::1'] : []) })
  expect(await apiServerAddresses(new URL('https://api:6443'), host, silentLogger)).toEqual([
    { ip: '192.0.2.1', port: 6443 },
    { ip: 'fd00::1', port: 6443 },
  ])
})

test('a name that nobody knows is said', async () => {
  const log = new RecordingLogger()
  expect(await apiServerAddresses(new URL('https://no-such-host.invalid:6443'), memoryHost(), log)).toEqual([])
  expect(log.at('warn')).toMatchObject([{ fields: { host: 'no-such-host.invalid' } }])
})
