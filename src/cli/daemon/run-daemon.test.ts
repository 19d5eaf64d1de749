/** The stages of the start, on a machine in memory: what each asks of it, and what is undone when one fails. */
import { allAbilities } from '../../core/routing/mode-abilities.ts'
import { nftablesTraits } from '../../backends/nftables/traits.ts'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { Backend } from '../../core/backend.ts'
import { MemorySysctl } from '../../dataplane/sysctl/memory-sysctl.ts'
import { memoryHost, memoryProgram } from '../host/testing/memory-host.ts'
import type { Mode } from '../modes/mode.ts'
import { linuxRules } from '../modes/workings.ts'
import type { Workings } from '../modes/workings.ts'
import { daemonCommand } from './daemon-command.ts'
import { runDaemon } from './run-daemon.ts'
import { memoryDaemon } from './testing/memory-daemon.ts'

const never = new AbortController().signal
const manifests = fileURLToPath(new URL('../../../examples/manifests/cluster', import.meta.url))
const flags = [`--objects=${manifests}`, '--hostname-override=node1', '--node-address=192.0.2.1']

describe('what is refused touches nothing of the machine', () => {
  test.each([
    [['--proxy-mode=nope'], 'nope'],
    [['--cluster-cidr=10.0.0.0/33'], '10.0.0.0/33'],
    [['--config=/etc/none.yaml'], '/etc/none.yaml'],
    [['--hostname-override= '], 'hostname-override'],
  ])('%j', async (wrong, named) => {
    const program = memoryProgram()
    const { host } = program
    const { code, problem } = await daemonCommand([...flags, ...wrong], program, never).then(
      (code) => ({ code, problem: '' }),
      (error: Error) => ({ code: 1, problem: error.message }),
    )
    expect(code).toBe(1)
    expect(problem + program.printed() + host.logged()).toContain(named)
    expect(host.commands).toEqual([])
    expect(host.sysctl.writes).toEqual([])
  })

  test.each([
    ['nftables', 'the nftables mode cannot run here: cannot ask nft for its version'],
    ['iptables', 'in mode iptables: there is no program'],
    ['ipvs', "can't use the IPVS proxier"],
    ['userspace', 'in mode userspace: there is no program'],
  ])('mode %s without its tools', async (mode, reason) => {
    const sysctl = new MemorySysctl({ 'net/netfilter/nf_conntrack_max': '1' })
    const program = memoryProgram(memoryHost({ sysctl, localAddresses: () => ['127.0.0.1', '192.0.2.1'] }))
    expect(await daemonCommand([...flags, `--proxy-mode=${mode}`], program, never)).toBe(1)
    expect(program.host.logged()).toContain(reason)
    expect(sysctl.writes).toEqual([])
  })
})

test('--init-only makes the settings of the machine, then those of the mode, and opens no backend', async () => {
  const settings = { 'net/netfilter/nf_conntrack_max': '1', 'net/netfilter/nf_conntrack_tcp_timeout_established': '1' }
  const { mode, steps } = steppingMode(() => sysctl.writes.length)
  const sysctl = new MemorySysctl(settings)
  const host = memoryHost({
    sysctl,
    moduleParameters: new MemorySysctl({ 'nf_conntrack/parameters/hashsize': '1000000' }),
  })
  const own = ['--init-only', '--conntrack-tcp-timeout-close-wait=0s']
  await runDaemon(await memoryDaemon({ flags: [...flags, ...own], mode, host }), never)
  expect(sysctl.writes).toEqual([
    'net/netfilter/nf_conntrack_max=131072',
    'net/netfilter/nf_conntrack_tcp_timeout_established=86400',
  ])
  expect(steps).toEqual(['on 192.0.2.1 after 0 writes', 'supports ipv4', 'supports ipv6', 'prepare after 2 writes'])
})

test('with a read-only /proc/sys the set-up fails, and a proxy starts with a warning', async () => {
  const sysctl = new MemorySysctl({ 'net/netfilter/nf_conntrack_udp_timeout': '30' })
  sysctl.refuseWith = 'read-only'
  const none = ['--conntrack-max-per-core=0', '--conntrack-tcp-timeout-established=0s']
  const own = [...none, '--conntrack-tcp-timeout-close-wait=0s', '--conntrack-udp-timeout=50s']
  const starting = async (more: readonly string[]) => {
    const { mode } = steppingMode(
      () => 0,
      () => Promise.reject(new Error('far enough')),
    )
    const daemon = await memoryDaemon({ flags: [...flags, ...own, ...more], mode, host: memoryHost({ sysctl }) })
    const problem = await runDaemon(daemon, never).then(
      () => '',
      (error: Error) => error.message,
    )
    return { problem, warnings: daemon.log.lines.filter(({ level }) => level === 'warn') }
  }
  expect((await starting(['--init-only'])).problem).toContain('could not set conntrack parameters')
  const { problem, warnings } = await starting([])
  expect(problem).toBe('far enough')
  expect(warnings.map(({ fields }) => fields)).toContainEqual(
    expect.objectContaining({ file: '/proc/sys/net/netfilter/nf_conntrack_udp_timeout', is: '30', wanted: '50' }),
  )
})

test('a kernel that has not loaded nf_conntrack keeps neither the set-up nor the proxy from going on', async () => {
  const missing = new MemorySysctl({})
  for (const more of [['--init-only'], []]) {
    const { mode } = steppingMode(() => 0, more.length > 0 ? undefined : () => Promise.reject(new Error('far enough')))
    const host = memoryHost({ sysctl: missing, moduleParameters: missing })
    const daemon = await memoryDaemon({ flags: [...flags, ...more], mode, host })
    const problem = await runDaemon(daemon, new AbortController().signal).then(
      () => '',
      (error: Error) => error.message,
    )
    expect(problem).toBe(more.length > 0 ? '' : 'far enough')
    expect(daemon.log.at('warn').flatMap(({ fields }) => fields?.['file'] ?? [])).toEqual([
      '/proc/sys/net/netfilter/nf_conntrack_max',
      '/sys/module/nf_conntrack/parameters/hashsize',
      '/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established',
      '/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_close_wait',
    ])
  }
})

test('a mode whose connections no kernel tracks leaves its settings alone', async () => {
  const { mode } = steppingMode(() => 0, undefined, { ...linuxRules, tracksConnections: false })
  const sysctl = new MemorySysctl({ 'net/netfilter/nf_conntrack_max': '1' })
  await runDaemon(await memoryDaemon({ flags: [...flags, '--init-only'], mode, host: memoryHost({ sysctl }) }), never)
  expect(sysctl.writes).toEqual([])
})

test.each([
  ['as-configured', [], ['nodePortAddresses is unset']],
  ['everywhere', [], []],
  ['everywhere', ['--nodeport-addresses=192.0.2.0/24'], ['nodePortAddresses has no effect in this mode']],
  ['on-loopback', ['--nodeport-addresses=192.0.2.0/24'], []],
] as const)('node ports that are open %s, with flags %j, are worth the warnings %j', async (nodePorts, own, wanted) => {
  const { mode } = steppingMode(() => 0, undefined, { ...linuxRules, tracksConnections: false, nodePorts })
  const daemon = await memoryDaemon({ flags: [...flags, ...own, '--init-only'], mode })
  await runDaemon(daemon, never)
  const warnings = daemon.log.at('warn').map(({ fields }) => fields['warning'])
  expect(warnings).toEqual(wanted.map((text) => expect.stringContaining(text) as string))
})

describe('a backend that is open already ends with the start', () => {
  test('that fails at the next one', async () => {
    const { mode, steps } = steppingMode(
      () => 0,
      () => Promise.reject(new Error('no table for you')),
    )
    await expect(runDaemon(await memoryDaemon({ flags: unprivileged, mode }), never)).rejects.toThrow(
      'no table for you',
    )
    expect(steps.slice(-3)).toEqual(['create ipv4', 'create ipv6', 'dispose of ipv4'])
  })

  test('that is told to end during the next one', async () => {
    const stop = new AbortController()
    const { mode, steps } = steppingMode(
      () => 0,
      async (signal) => {
        stop.abort(new Error('stopped by SIGTERM'))
        signal.throwIfAborted()
      },
    )
    await runDaemon(await memoryDaemon({ flags: unprivileged, mode }), stop.signal)
    expect(steps.at(-1)).toBe('dispose of ipv4')
  })
})

/** Leaves the settings of the kernel alone. */
const unprivileged = [
  ...flags,
  '--conntrack-max-per-core=0',
  '--conntrack-tcp-timeout-established=0s',
  '--conntrack-tcp-timeout-close-wait=0s',
]

/** Writes down what it is asked; `createIpv6` is what happens at the second of its backends. */
function steppingMode(
  writes: () => number,
  createIpv6: (signal: AbortSignal) => Promise<void> = () => Promise.resolve(),
  workings: Workings = linuxRules,
): { readonly mode: Mode; readonly steps: readonly string[] } {
  const steps: string[] = []
  const backend: Backend = {
    name: 'stepping',
    sync: () => Promise.reject(new Error('nothing is served')),
    [Symbol.asyncDispose]: async () => void steps.push('dispose of ipv4'),
  }
  const mode: Mode = {
    name: 'stepping',
    carriesTraffic: false,
    endpointRules: 'usual',
    abilities: allAbilities,
    traits: () => nftablesTraits,
    render: () => [],
    pieces: () => [],
    onNode({ nodeIp }) {
      steps.push(`on ${nodeIp} after ${writes()} writes`)
      return {
        name: 'stepping',
        traits: nftablesTraits,
        ...workings,
        async supports(family) {
          steps.push(`supports ${family}`)
          return true
        },
        async prepare() {
          steps.push(`prepare after ${writes()} writes`)
        },
        async createBackend(family, signal) {
          steps.push(`create ${family}`)
          if (family === 'ipv6') await createIpv6(signal)
          return { backend, afterSync: [] }
        },
      }
    },
  }
  return { mode, steps }
}
