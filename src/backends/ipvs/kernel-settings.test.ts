import { expect, test } from 'vitest'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { IpvsError } from '../../dataplane/ipvs/ipvs.ts'
import type { IpvsTimeouts } from '../../dataplane/ipvs/ipvs.ts'
import { MemorySysctl } from '../../dataplane/sysctl/memory-sysctl.ts'
import { applyKernelSettings } from './kernel-settings.ts'
import type { KernelSettings } from './kernel-settings.ts'

const never = new AbortController().signal
const untouched: KernelSettings = { strictArp: false, tcpTimeoutMs: 0, tcpFinTimeoutMs: 0, udpTimeoutMs: 0 }

function given(options: { readonly release?: string; readonly values?: Readonly<Record<string, string>> } = {}) {
  const { release = '6.1.0-18-amd64', values = {} } = options
  const log = new RecordingLogger()
  const timeouts: IpvsTimeouts[] = []
  const sysctl = new MemorySysctl({
    ...(release === '' ? {} : { 'kernel/osrelease': release }),
    'net/ipv4/vs/conntrack': '0',
    'net/ipv4/vs/conn_reuse_mode': '1',
    'net/ipv4/vs/expire_nodest_conn': '0',
    'net/ipv4/vs/expire_quiescent_template': '0',
    'net/ipv4/ip_forward': '0',
    'net/ipv4/conf/all/arp_ignore': '0',
    'net/ipv4/conf/all/arp_announce': '0',
    ...values,
  })
  const ipvs = { setTimeouts: async (set: IpvsTimeouts) => void timeouts.push(set) }
  const apply = (settings: Partial<KernelSettings> = {}) =>
    applyKernelSettings({ ...untouched, ...settings }, { sysctl, ipvs, log }, never)
  return { log, sysctl, ipvs, timeouts, apply }
}

const always = [
  'net/ipv4/vs/conntrack=1',
  'net/ipv4/vs/expire_nodest_conn=1',
  'net/ipv4/vs/expire_quiescent_template=1',
  'net/ipv4/ip_forward=1',
]

test('connections are tracked, end with their endpoint, and are forwarded', async () => {
  const { sysctl, apply } = given()
  await apply()
  expect(sysctl.writes).toEqual(always)
})

test('what is right already is not written', async () => {
  const { sysctl, apply } = given({ values: { 'net/ipv4/vs/conntrack': '1', 'net/ipv4/ip_forward': '1' } })
  await apply()
  expect(sysctl.writes).toEqual(always.slice(1, 3))
})

for (const [release, mode, errors] of [
  ['4.0.9', '1', 1],
  ['4.1.0', '0', 0],
  ['5.8.18', '0', 0],
  ['5.9.0', '1', 0],
  ['5.15.146.1-microsoft-standard-WSL2', '1', 0],
  ['6.1.0', '1', 0],
] as const)
  test(`on Linux ${release} the mode of reuse is ${mode}${errors > 0 ? ', and people are told' : ''}`, async () => {
    const { sysctl, log, apply } = given({ release })
    await apply()
    expect(await sysctl.read('net/ipv4/vs/conn_reuse_mode')).toBe(mode)
    expect(log.at('error')).toHaveLength(errors)
  })

test('a kernel whose version cannot be told ends the start', async () => {
  await expect(given({ release: '' }).apply()).rejects.toThrow('osrelease')
})

test('strict ARP is on only when asked for', async () => {
  const { sysctl, apply } = given()
  await apply({ strictArp: true })
  expect(sysctl.writes).toEqual([...always, 'net/ipv4/conf/all/arp_ignore=1', 'net/ipv4/conf/all/arp_announce=2'])
})

test('a setting that cannot be written ends the start and is named', async () => {
  const { sysctl, apply } = given()
  sysctl.refuseWith = 'read-only'
  await expect(apply()).rejects.toMatchObject({
    reason: 'read-only',
    message: expect.stringContaining("can't set sysctl net/ipv4/vs/conntrack to 1"),
  })
})

test('timeouts go to the kernel together, in whole seconds', async () => {
  const { timeouts, apply } = given()
  await apply({ tcpTimeoutMs: 900_000, tcpFinTimeoutMs: 30_999, udpTimeoutMs: 0 })
  await apply({ udpTimeoutMs: 500 })
  await apply()
  expect(timeouts).toEqual([
    { tcpSeconds: 900, tcpFinSeconds: 30, udpSeconds: 0 },
    { tcpSeconds: 0, tcpFinSeconds: 0, udpSeconds: 0 },
  ])
})

test('timeouts that cannot be set do not end the start', async () => {
  const { ipvs, log, apply } = given()
  ipvs.setTimeouts = () => Promise.reject(new IpvsError('refused', 'no'))
  await apply({ tcpTimeoutMs: 1000 })
  expect(log.at('error')).toMatchObject([{ message: expect.stringContaining('timeouts') }])
})
