/** A running daemon follows its configuration file: a real file in a real folder, and parts that write down what they are told. */
import { mkdir, mkdtemp, readFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { parsed } from '../../../config/testing/command-line.ts'
import { systemClock } from '../../../core/clock.ts'
import { MemorySysctl } from '../../../dataplane/sysctl/memory-sysctl.ts'
import { SysctlError } from '../../../dataplane/sysctl/sysctl.ts'
import { Hangups } from '../../hangups.ts'
import { memoryHost } from '../../host/testing/memory-host.ts'
import { linuxRules } from '../../modes/workings.ts'
import { loadConfig } from '../load-config.ts'
import { NodeSettings } from '../node-settings.ts'
import { memoryDaemon } from '../testing/memory-daemon.ts'
import { ConfigReload } from './config-reload.ts'
import { ReloadStatus } from './reload-status.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairlead-reload-'))
  path = join(folder, 'config.yaml')
})
afterEach(() => rm(folder, { recursive: true }))

const soon = { timeout: 10_000, interval: 20 }

function contentOf(fields: string): string {
  return `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
conntrack: {maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
${fields}`
}

/** A file replaced in one step, as most tools do it. On Windows they try again while somebody reads it. */
async function replace(fields: string): Promise<void> {
  await writeFile(`${path}.new`, contentOf(fields))
  await vi.waitFor(() => rename(`${path}.new`, path), soon)
}

const udpTimeout = 'net/netfilter/nf_conntrack_udp_timeout'
const withConntrack = (fields: string, more = '') =>
  contentOf(more).replace('maxPerCore: 0', `maxPerCore: 0, ${fields}`)

const addresses = { ips: { ipv4: '192.0.2.1', ipv6: '::1' }, primaryFamily: 'ipv4' } as const

async function following({
  flags = [] as readonly string[],
  prepare = () => Promise.resolve(),
  meanwhile = () => Promise.resolve(),
} = {}) {
  const host = memoryHost({
    clock: systemClock,
    readTextFile: (file) => readFile(file, 'utf8'),
    sysctl: new MemorySysctl({ [udpTimeout]: '30' }),
    localAddresses: () => ['192.0.2.1', '127.0.0.1'],
  })
  const daemon = await memoryDaemon({ flags: [`--config=${path}`, ...flags], host })
  const { options } = parsed([`--config=${path}`, ...flags])
  const parse = (content: string, mode?: string) =>
    loadConfig(options, { ...host, readTextFile: async () => content }, mode)
  const content = await readFile(path, 'utf8')
  await meanwhile()
  const told: string[] = []
  const status = new ReloadStatus(daemon.running, 0)
  const hangups = new Hangups()
  const reload = new ConfigReload({
    file: { path, content, parse },
    daemon: { ...daemon, hangups },
    prepared: {
      node: { name: 'node1', record: undefined, addresses },
      context: { host, log: daemon.log } as never,
      settings: new NodeSettings(daemon, { record: undefined, addresses }),
      mode: { ...linuxRules, prepare } as never,
      families: ['ipv4'],
    },
    proxies: [
      {
        reconfigure: () => told.push(`rules with node ports on ${daemon.running.config.nodePortAddresses.join()}`),
        periodsChanged: () => told.push(`periods of ${daemon.running.config.syncPeriodMs} ms`),
      },
    ],
    status,
    metrics: { reloaded: (result) => told.push(result) },
    events: { configuration: (reason, note) => told.push(`${reason}: ${note}`) },
  })
  const stop = new AbortController()
  const running = reload.run(stop.signal)
  return {
    daemon,
    host,
    told,
    status,
    hangups,
    logged: (message: string) =>
      daemon.log.lines.filter((line) => line.message === message).map(({ fields }) => fields),
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}

test('a changed file is applied at once, and told field by field', async () => {
  await writeFile(path, contentOf(''))
  await using it = await following()
  const before = it.status.runningHash
  await replace('nodePortAddresses: [192.0.2.0/24]\nnftables: {syncPeriod: 10s}')
  await expect.poll(() => it.logged('configuration applied'), soon).toHaveLength(1)
  expect(it.logged('configuration field changed')).toEqual([
    { field: 'nftables.syncPeriod', from: '30s', to: '10s' },
    { field: 'nodePortAddresses', from: '[primary]', to: '[192.0.2.0/24]' },
  ])
  expect(it.told).toEqual([
    'periods of 10000 ms',
    'rules with node ports on 192.0.2.0/24',
    'applied',
    'ConfigurationApplied: nftables.syncPeriod: 30s → 10s; nodePortAddresses: [primary] → [192.0.2.0/24]',
  ])
  expect(it.status.runningHash).not.toBe(before)
})

const onWindows = process.platform === 'win32'
test.skipIf(onWindows)(
  'the symlink swap of a ConfigMap volume is seen (not on Wine: it makes no symlinks)',
  async () => {
    await mkdir(join(folder, '..1'))
    await writeFile(join(folder, '..1', 'config.yaml'), contentOf(''))
    await symlink('..1', join(folder, '..data'))
    await symlink('..data/config.yaml', path)
    await using it = await following()
    await mkdir(join(folder, '..2'))
    await writeFile(join(folder, '..2', 'config.yaml'), contentOf('oomScoreAdj: 7'))
    await symlink('..2', join(folder, '..data_tmp'))
    await rename(join(folder, '..data_tmp'), join(folder, '..data'))
    await expect.poll(() => it.daemon.running.config.oomScoreAdj, soon).toBe(7)
  },
)

test('a file that is wrong changes nothing; mended, it is applied', async () => {
  await writeFile(path, contentOf(''))
  await using it = await following()
  const { config } = it.daemon.running
  await replace('oomScoreAdj: 5000\nnodePortAddresses: [nonsense]')
  await expect.poll(() => it.status.refused?.problem, soon).toContain('OOMScoreAdj')
  expect(it.daemon.running.config).toBe(config)
  expect(it.logged('configuration file refused, the running configuration stays')).toEqual([
    { file: path, problem: expect.stringContaining('"nonsense"') as string },
  ])
  expect(it.status.configz()).toMatchObject({
    'kubeproxy.config.k8s.io': { oomScoreAdj: -999 },
    'fairlead.dev': { refused: { problem: expect.stringContaining('OOMScoreAdj') as string } },
  })
  await unlink(path)
  await expect.poll(() => it.status.refused?.problem, soon).toContain('cannot read')
  await replace('oomScoreAdj: 500')
  await expect.poll(() => it.daemon.running.config.oomScoreAdj, soon).toBe(500)
  expect(it.status.refused).toBeUndefined()
  expect(it.told.filter((text) => !text.startsWith('Configuration'))).toEqual(['refused', 'refused', 'applied'])
})

test('what the machine refuses changes nothing either', async () => {
  await writeFile(path, contentOf(''))
  await using it = await following({ prepare: () => Promise.reject(new Error('no such sysctl')) })
  await replace('nodePortAddresses: [192.0.2.0/24]')
  await expect.poll(() => it.status.refused?.problem, soon).toBe('no such sysctl')
  expect(it.daemon.running.config.nodePortAddresses).toEqual(['primary'])
})

test('a field that needs a restart keeps its value and is pending, until the file has it as it runs', async () => {
  await writeFile(path, contentOf(''))
  await using it = await following()
  await replace('healthzBindAddress: 0.0.0.0:1\noomScoreAdj: 7')
  await expect.poll(() => it.status.pending, soon).toBeDefined()
  expect(it.daemon.running.config).toMatchObject({ healthzBindAddress: '0.0.0.0:10256', oomScoreAdj: 7 })
  const because = 'its port is opened at the start, and probes and scrapes have to follow'
  expect(it.logged('configuration field keeps its value until a restart')).toEqual([
    { field: 'healthzBindAddress', running: '0.0.0.0:10256', pending: '0.0.0.0:1', because },
  ])
  expect(it.status.configz()).toMatchObject({
    'fairlead.dev': { pending: { hash: it.status.pendingHash, needRestart: [{ field: 'healthzBindAddress' }] } },
  })
  expect(it.told).toContain(
    'ConfigurationNeedsRestart: these keep their values until a restart: healthzBindAddress: 0.0.0.0:10256 → 0.0.0.0:1',
  )
  await replace('oomScoreAdj: 7')
  await expect.poll(() => it.status.pending, soon).toBeUndefined()
})

test('of a file with another mode, the settings of the mode that runs are applied, and not those of the other', async () => {
  await writeFile(path, contentOf('nftables: {syncPeriod: 20s}'))
  await using it = await following()
  const sections = 'iptables: {masqueradeAll: true, syncPeriod: 5m}\nnftables: {syncPeriod: 10s}'
  await writeFile(path, contentOf(sections).replace('mode: nftables', 'mode: iptables'))
  await expect.poll(() => it.status.pending, soon).toBeDefined()
  expect(it.logged('configuration field changed')).toEqual([{ field: 'nftables.syncPeriod', from: '20s', to: '10s' }])
  expect(it.status.pending?.fields.map(({ field }) => field)).toEqual(['mode'])
  expect(it.status.pending?.config).toMatchObject({ mode: 'iptables', masqueradeAll: true, syncPeriodMs: 300_000 })
  expect(it.daemon.running.config).toMatchObject({ mode: 'nftables', masqueradeAll: false, syncPeriodMs: 10_000 })
})

test('a mistake in the section of the mode that runs is found, also in a file with another mode', async () => {
  await writeFile(path, contentOf(''))
  await using it = await following()
  const { config } = it.daemon.running
  await writeFile(
    path,
    contentOf('nftables: {masqueradeBit: 40}\noomScoreAdj: 7').replace('mode: nftables', 'mode: iptables'),
  )
  await expect.poll(() => it.status.refused?.problem, soon).toContain('MasqueradeBit')
  expect(it.daemon.running.config).toBe(config)
})

test('settings of the kernel are written', async () => {
  await writeFile(path, contentOf(''))
  await using it = await following()
  await writeFile(path, withConntrack('udpTimeout: 50s'))
  await expect.poll(() => it.host.sysctl.writes, soon).toEqual([`${udpTimeout}=50`])
})

test('where /proc/sys is read-only, the setting is held and the rest applied; SIGHUP tries again', async () => {
  await writeFile(path, contentOf(''))
  await using it = await following()
  it.host.sysctl.refuseWith = 'read-only'
  await writeFile(path, withConntrack('udpTimeout: 50s', 'oomScoreAdj: 7'))
  await expect.poll(() => it.status.pending, soon).toBeDefined()
  expect(it.status.refused).toBeUndefined()
  expect(it.daemon.running.config).toMatchObject({ oomScoreAdj: 7, conntrack: { udpTimeoutMs: 0 } })
  expect(it.logged('configuration field keeps its value until a restart')).toEqual([
    {
      field: 'conntrack.udpTimeout',
      running: '0s',
      pending: '50s',
      because: expect.stringContaining('delete the pod') as string,
    },
  ])
  it.host.sysctl.refuseWith = undefined
  it.hangups.deliver()
  await expect.poll(() => it.daemon.running.config.conntrack.udpTimeoutMs, soon).toBe(50_000)
  expect(it.status.pending).toBeUndefined()
})

test('a setting that the kernel does not have is held, with the reason', async () => {
  await writeFile(path, contentOf(''))
  await using it = await following()
  await writeFile(path, withConntrack('udpTimeout: 50s, udpStreamTimeout: 60s'))
  await expect.poll(() => it.status.pending, soon).toBeDefined()
  expect(it.daemon.running.config).toMatchObject({ conntrack: { udpTimeoutMs: 50_000, udpStreamTimeoutMs: 0 } })
  expect(it.logged('configuration field keeps its value until a restart')).toEqual([
    {
      field: 'conntrack.udpStreamTimeout',
      running: '0s',
      pending: '1m0s',
      because: 'the kernel has no such setting: load nf_conntrack',
    },
  ])
})

test('a mode whose setting is read-only has its field held, too', async () => {
  await writeFile(path, contentOf(''))
  const prepare = () => Promise.reject(new SysctlError('read-only', 'cannot set route_localnet'))
  await using it = await following({ prepare })
  await replace('nodePortAddresses: [127.0.0.0/8]\nlogging: {verbosity: 3}')
  await expect.poll(() => it.status.pending?.fields.map(({ field }) => field), soon).toEqual(['nodePortAddresses'])
  expect(it.daemon.running.config).toMatchObject({ nodePortAddresses: ['primary'], logging: { verbosity: 3 } })
})

test('after a refusal, settings of the kernel that were written get their running values again', async () => {
  await writeFile(path, withConntrack('udpTimeout: 40s'))
  await using it = await following()
  const { sysctl } = it.host
  const write = sysctl.write.bind(sysctl)
  sysctl.write = async (file, value) => {
    if (file.endsWith('_stream')) throw new SysctlError('refused', `cannot set ${file}`)
    await write(file, value)
  }
  await writeFile(path, withConntrack('udpTimeout: 50s, udpStreamTimeout: 60s'))
  await expect.poll(() => it.status.refused?.problem, soon).toContain('nf_conntrack_udp_timeout_stream')
  expect(it.host.sysctl.writes).toEqual([`${udpTimeout}=50`, `${udpTimeout}=40`])
})

test('a flag that wins over the file still does', async () => {
  await writeFile(path, contentOf(''))
  await using it = await following({ flags: ['-v=3'] })
  await replace('logging: {verbosity: 9}\noomScoreAdj: 7')
  await expect.poll(() => it.daemon.running.config.oomScoreAdj, soon).toBe(7)
  expect(it.daemon.running.config.logging.verbosity).toBe(3)
})

test('a change during the start is not missed', async () => {
  await writeFile(path, contentOf(''))
  await using it = await following({ meanwhile: () => replace('oomScoreAdj: 7') })
  await expect.poll(() => it.daemon.running.config.oomScoreAdj, soon).toBe(7)
})

test('SIGHUP has the file read again', async () => {
  await writeFile(path, contentOf(''))
  await using it = await following()
  await expect.poll(() => it.hangups.deliver(), soon).toBe(true)
  expect(it.logged('SIGHUP: reading the configuration file again')).not.toEqual([])
})

test('SIGHUP tries a file again that the machine refused', async () => {
  await writeFile(path, contentOf(''))
  let isBroken = true
  const prepare = () => (isBroken ? Promise.reject(new Error('no such module')) : Promise.resolve())
  await using it = await following({ prepare })
  await replace('nodePortAddresses: [192.0.2.0/24]')
  await expect.poll(() => it.status.refused?.problem, soon).toBe('no such module')
  isBroken = false
  it.hangups.deliver()
  await expect.poll(() => it.daemon.running.config.nodePortAddresses, soon).toEqual(['192.0.2.0/24'])
  expect(it.status.refused).toBeUndefined()
})
