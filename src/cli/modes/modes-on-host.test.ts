/** Modes on machines in memory: what each refuses, and which settings it makes. */
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { SocketBalancer } from '../../backends/ebpf/socket-balancer.ts'
import { MemoryNode } from '../../backends/ebpf/testing/memory-node.ts'
import { NftablesBackend } from '../../backends/nftables/nftables-backend.ts'
import { MemoryBpf } from '../../dataplane/ebpf/memory-bpf.ts'
import { scriptedExec } from '../../dataplane/iptables/testing/scripted-exec.ts'
import { MemorySysctl } from '../../dataplane/sysctl/memory-sysctl.ts'
import { daemonMetrics } from '../daemon/daemon-metrics.ts'
import { Succession } from '../succession/succession.ts'
import { daemonTracing } from '../daemon/daemon-tracing.ts'
import { modeContext } from '../daemon/mode-context.ts'
import { memoryDaemon } from '../daemon/testing/memory-daemon.ts'
import { memoryHost } from '../host/testing/memory-host.ts'
import type { MemoryHostOptions } from '../host/testing/memory-host.ts'
import { ebpfMachine, placeFlags } from './ebpf/testing/ebpf-machine.ts'
import type { ModeOnNode } from './mode.ts'

const never = new AbortController().signal
const routeLocalnet = 'net/ipv4/conf/all/route_localnet'

test.each([
  ['are wanted', [], [`${routeLocalnet}=1`]],
  ['are not wanted', ['--iptables-localhost-nodeports=false'], []],
  ['are wanted in no mode', ['--localhost-nodeports=false'], []],
  ['are wanted from a listener only', ['--localhost-nodeports', '--iptables-localhost-nodeports=false'], []],
  ['are on another address', ['--nodeport-addresses=192.0.2.0/24'], []],
])('iptables opens loopback to node ports only where they %s', async (_, flags, writes) => {
  const sysctl = new MemorySysctl({ [routeLocalnet]: '0' })
  const { mode, settings } = await onHost(['--proxy-mode=iptables', ...flags], { sysctl })
  await mode.prepare(settings)
  expect(sysctl.writes).toEqual(writes)
})

test('nftables refuses an old kernel, unless the environment says that it is new enough', async () => {
  const { exec } = scriptedExec((command) => ({ stdout: command === 'nft --version' ? 'nftables v1.0.6 (x)' : '' }))
  const old: MemoryHostOptions = { exec, kernelRelease: () => '5.4.0-100-generic' }
  const refusing = await modeOn(['--proxy-mode=nftables'], old)
  await expect(refusing.supports('ipv4', never)).rejects.toThrow(
    'the nftables mode cannot run here: the kernel is 5.4.0-100-generic, and the nftables mode needs 5.13',
  )
  const env = { KUBE_PROXY_NFTABLES_SKIP_KERNEL_VERSION_CHECK: '1' }
  const trusting = await modeOn(['--proxy-mode=nftables'], { ...old, env })
  expect(await trusting.supports('ipv4', never)).toBe(true)
})

describe('ebpf gives back what it has borrowed where a backend cannot be made', () => {
  const ends = vi.spyOn(SocketBalancer.prototype, Symbol.asyncDispose)
  const endsOfPackets = vi.spyOn(NftablesBackend.prototype, Symbol.asyncDispose)
  beforeEach(() => void [ends.mockClear(), endsOfPackets.mockClear()])
  afterAll(() => vi.restoreAllMocks())

  const failing = async () => {
    const bpf = new MemoryBpf(new MemoryNode().kernel)
    const { exec } = scriptedExec((command) => ({ stdout: command === 'nft --version' ? 'nftables v1.0.6 (x)' : '' }))
    const mode = await modeOn(['--proxy-mode=ebpf', ...placeFlags], { ...ebpfMachine(bpf), exec })
    expect(await mode.supports('ipv4', never)).toBe(true)
    bpf.pinned = () => Promise.reject(new TypeError('a fault of the program'))
    return mode.createBackend('ipv4', never)
  }

  test('and says why', async () => {
    await expect(failing()).rejects.toThrow('a fault of the program')
    expect([ends.mock.calls.length, endsOfPackets.mock.calls.length]).toEqual([1, 1])
  })

  test('also where the backend for packets does not end as it should', async () => {
    endsOfPackets.mockRejectedValueOnce(new Error('it does not end'))
    await expect(failing()).rejects.toThrow('a fault of the program')
    expect(ends).toHaveBeenCalledOnce()
  })
})

test.each(['iptables', 'userspace'])('%s names the program that is missing', async (name) => {
  const mode = await modeOn([`--proxy-mode=${name}`], { localAddresses: () => ['192.0.2.1'] })
  expect(await mode.supports('ipv4', never)).toBe(false)
  expect(await mode.whatIsMissing?.('ipv4', never)).toMatch(/^there is no program "iptables"/)
})

async function modeOn(flags: readonly string[], options: MemoryHostOptions): Promise<ModeOnNode> {
  return (await onHost(flags, options)).mode
}

async function onHost(flags: readonly string[], options: MemoryHostOptions) {
  const daemon = await memoryDaemon({ flags, host: memoryHost(options) })
  const ips = { ipv4: '192.0.2.1', ipv6: '::1' }
  const node = { name: 'node1', record: undefined, addresses: { ips, primaryFamily: 'ipv4' } } as const
  const context = modeContext(daemon, node, {
    metrics: daemonMetrics(daemon.running, daemon.host),
    tracing: daemonTracing(daemon.host.clock),
    succession: new Succession(),
  })
  return { mode: daemon.mode.onNode(context), settings: context.settings() }
}
