import { expect, test } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import { applyConntrackSettings } from './conntrack-settings.ts'
import type { ConntrackSettings } from './conntrack-settings.ts'
import { MemorySysctl } from './memory-sysctl.ts'

const untouched: ConntrackSettings = {
  maxPerCore: 0,
  min: 0,
  tcpEstablishedTimeoutMs: 0,
  tcpCloseWaitTimeoutMs: 0,
  tcpBeLiberal: false,
  udpTimeoutMs: 0,
  udpStreamTimeoutMs: 0,
}

function given({ cpus = 2, hashsize = '1048576' }: { cpus?: number; hashsize?: string | undefined } = {}) {
  const sysctl = new MemorySysctl({
    'net/netfilter/nf_conntrack_max': '65536',
    'net/netfilter/nf_conntrack_tcp_timeout_established': '432000',
    'net/netfilter/nf_conntrack_tcp_timeout_close_wait': '60',
    'net/netfilter/nf_conntrack_tcp_be_liberal': '0',
    'net/netfilter/nf_conntrack_udp_timeout': '30',
    'net/netfilter/nf_conntrack_udp_timeout_stream': '120',
  })
  const moduleParameters = new MemorySysctl(hashsize === '' ? {} : { 'nf_conntrack/parameters/hashsize': hashsize })
  const apply = (settings: Partial<ConntrackSettings>) =>
    applyConntrackSettings({ ...untouched, ...settings }, { sysctl, moduleParameters, cpus, log: silentLogger })
  return { sysctl, moduleParameters, apply }
}

for (const [maxPerCore, min, cpus, expected] of [
  [32768, 131072, 2, 131072],
  [32768, 131072, 8, 262144],
  [32768, 131072, 512, 1048576],
  [32768, 2_000_000, 512, 1048576],
  [1, 2_000_000, 2, 2_000_000],
] as const)
  test(`${maxPerCore} connections per core, at least ${min}, on ${cpus} CPUs make ${expected}`, async () => {
    const { sysctl, apply } = given({ cpus })
    await apply({ maxPerCore, min })
    expect(sysctl.writes).toEqual([`net/netfilter/nf_conntrack_max=${expected}`])
  })

test('without a number per core the maximum and the hash table are left alone, minimum or not', async () => {
  const { sysctl, moduleParameters, apply } = given({ hashsize: '1' })
  await apply({ maxPerCore: 0, min: 131072 })
  expect([...sysctl.writes, ...moduleParameters.writes]).toEqual([])
})

test('a value that is right already is not written', async () => {
  const { sysctl, apply } = given({ cpus: 2 })
  await apply({ maxPerCore: 32768, udpTimeoutMs: 30_000 })
  expect(sysctl.writes).toEqual([])
})

test('the hash table grows to a quarter of the maximum, and never shrinks', async () => {
  for (const [hashsize, writes] of [
    ['16384', ['nf_conntrack/parameters/hashsize=32769']],
    ['32768', ['nf_conntrack/parameters/hashsize=32769']],
    ['32769', []],
    ['65536', []],
  ] as const) {
    const { moduleParameters, apply } = given({ hashsize })
    await apply({ maxPerCore: 1, min: 131079 })
    expect(moduleParameters.writes).toEqual(writes)
  }
})

test('what the kernel does not have is named, and the rest is set', async () => {
  const { sysctl, apply } = given({ hashsize: '' })
  expect(await apply({ maxPerCore: 32768, min: 131072, udpTimeoutMs: 5000 })).toMatchObject([
    {
      what: 'hash table',
      is: undefined,
      wanted: '32768',
      error: { reason: 'not-found', message: expect.stringContaining('--conntrack-max-per-core=0') },
    },
  ])
  expect(sysctl.writes).toEqual(['net/netfilter/nf_conntrack_max=131072', 'net/netfilter/nf_conntrack_udp_timeout=5'])
})

test('a hash table that cannot be written ends the start', async () => {
  const { moduleParameters, apply } = given({ hashsize: '1' })
  moduleParameters.refuseWith = 'not-permitted'
  await expect(apply({ maxPerCore: 32768 })).rejects.toMatchObject({ reason: 'not-permitted' })
})

test('what is read-only stays as it is and is named, and the rest is set', async () => {
  const { sysctl, moduleParameters, apply } = given({ hashsize: '1' })
  moduleParameters.refuseWith = 'read-only'
  expect(await apply({ maxPerCore: 32768, min: 131072, udpTimeoutMs: 5000 })).toMatchObject([
    { what: 'hash table', is: '1', wanted: '32768' },
  ])
  expect(sysctl.writes).toEqual(['net/netfilter/nf_conntrack_max=131072', 'net/netfilter/nf_conntrack_udp_timeout=5'])
  sysctl.refuseWith = 'read-only'
  expect(await apply({ udpTimeoutMs: 6000, udpStreamTimeoutMs: 7000, tcpCloseWaitTimeoutMs: 60_000 })).toMatchObject([
    { what: 'setting', option: 'udpTimeout', is: '5', wanted: '6', error: { reason: 'read-only' } },
    { what: 'setting', option: 'udpStreamTimeout', is: '120', wanted: '7' },
  ])
})

test('all settings are written in the order of kube-proxy, in whole seconds', async () => {
  const { sysctl, apply } = given()
  await apply({
    maxPerCore: 32768,
    min: 131072,
    tcpEstablishedTimeoutMs: 86_400_000,
    tcpCloseWaitTimeoutMs: 3_600_000,
    tcpBeLiberal: true,
    udpTimeoutMs: 5999,
    udpStreamTimeoutMs: 500,
  })
  expect(sysctl.writes).toEqual([
    'net/netfilter/nf_conntrack_max=131072',
    'net/netfilter/nf_conntrack_tcp_timeout_established=86400',
    'net/netfilter/nf_conntrack_tcp_timeout_close_wait=3600',
    'net/netfilter/nf_conntrack_tcp_be_liberal=1',
    'net/netfilter/nf_conntrack_udp_timeout=5',
    'net/netfilter/nf_conntrack_udp_timeout_stream=0',
  ])
})

test('settings of zero and false are never written', async () => {
  const { sysctl, apply } = given()
  await apply({})
  expect(sysctl.writes).toEqual([])
})

test('the first write that fails ends it, and names the option that leaves the setting alone', async () => {
  const { sysctl, apply } = given()
  sysctl.refuseWith = 'not-permitted'
  await expect(apply({ udpTimeoutMs: 5000, udpStreamTimeoutMs: 5000 })).rejects.toMatchObject({
    reason: 'not-permitted',
    message: expect.stringMatching(/nf_conntrack_udp_timeout to 5: .*--conntrack-udp-timeout=0s/),
  })
  expect(sysctl.writes).toEqual([])
})
