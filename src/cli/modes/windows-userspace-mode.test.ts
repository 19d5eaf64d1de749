/** The mode on a Windows node whose netsh is in memory. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { testRoute, testView } from '../../core/testing/routes.ts'
import { netshProgram } from '../../dataplane/netsh/testing/netsh-program.ts'
import { isWholeLoopbackLocal, ownLoopback } from '../../dataplane/relay/testing/own-loopback.ts'
import { MemoryRelay } from '../../dataplane/relay/testing/memory-relay.ts'
import { daemonMetrics } from '../daemon/daemon-metrics.ts'
import { Succession } from '../succession/succession.ts'
import { daemonTracing } from '../daemon/daemon-tracing.ts'
import { modeContext } from '../daemon/mode-context.ts'
import { memoryDaemon } from '../daemon/testing/memory-daemon.ts'
import { memoryHost, memoryProgram } from '../host/testing/memory-host.ts'
import type { MemoryHostOptions } from '../host/testing/memory-host.ts'
import { renderCommand } from '../render-command.ts'

const never = new AbortController().signal
const hnsNic = 'vEthernet (HNS Internal NIC)'

let stateDir: string
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'fairlead-windows-'))
})
afterEach(() => rm(stateDir, { recursive: true }))

interface NodeOptions extends MemoryHostOptions {
  readonly nodeIp?: string
  readonly flags?: readonly string[]
}

async function windowsNode(options: NodeOptions = {}) {
  const { nodeIp = '192.0.2.1', flags = [], ...machine } = options
  const host = memoryHost({ platform: 'win32', ...machine })
  const daemon = await memoryDaemon({ flags: ['--proxy-mode=userspace', `--state-dir=${stateDir}`, ...flags], host })
  const addresses = { ips: { ipv4: nodeIp, ipv6: '::1' }, primaryFamily: 'ipv4' } as const
  const node = { name: 'win-a', record: undefined, addresses }
  const context = modeContext(daemon, node, {
    metrics: daemonMetrics(daemon.running, host),
    tracing: daemonTracing(host.clock),
    succession: new Succession(),
  })
  const mode = daemon.mode.onNode(context)
  const said = () => daemon.log.lines.map(({ message, fields }) => [message, fields])
  const warned = () => daemon.log.at('warn').map(({ message, fields }) => [message, fields])
  return { mode, settings: context.settings(), said, warned, host }
}

test('an administrator of a node adds addresses, and is told to which interface', async () => {
  const { mode, said } = await windowsNode()
  expect(mode).toMatchObject({ name: 'userspace', nodePorts: 'as-configured', allowsLoopback: false })
  expect(said()).toEqual([
    ['Services are served at their own addresses, which are added to an interface', { interface: hnsNic }],
  ])
})

test('Services may have loopback addresses on the loopback interface', async () => {
  const env = { INTERFACE_TO_ADD_SERVICE_IP: 'Loopback Pseudo-Interface 1' }
  const { mode } = await windowsNode({ env })
  expect(mode.allowsLoopback).toBe(true)
})

test.each<[string, string, NodeOptions]>([
  [
    'not running as an administrator, who may add addresses',
    'run Fairlead as an administrator, as a service of LocalSystem, or in a HostProcess container',
    { process: { isRoot: false } },
  ],
  [
    "the node's address is 127.0.0.1",
    'give the name of the Node with --hostname-override, or its address with --bind-address',
    { nodeIp: '127.0.0.1' },
  ],
])('it stays on loopback and warns, with the way out: %s', async (reason, fix, options) => {
  const { mode, warned } = await windowsNode(options)
  expect(mode).toMatchObject({ name: 'userspace', nodePorts: 'on-loopback', replacesOtherModes: false })
  expect(warned()).toEqual([['Services are served on loopback only', { reason, fix }]])
})

test('who chooses loopback is not warned', async () => {
  const { said, warned } = await windowsNode({ nodeIp: '127.0.0.1', flags: ['--bind-address=127.0.0.1'] })
  expect(warned()).toEqual([])
  expect(said()).toEqual([['Services are served on loopback only', { reason: 'chosen with --bind-address' }]])
})

test('without netsh it does not start', async () => {
  const { mode, settings } = await windowsNode()
  await expect(mode.prepare(settings)).rejects.toThrow(
    'the userspace mode cannot run here: cannot change the addresses of "vEthernet (HNS Internal NIC)": ' +
      'there is no program "netsh"',
  )
})

test('an interface that is missing is named, with the way out; it may come later', async () => {
  const { exec } = netshProgram('Ethernet 2')
  const { mode, settings, said, host } = await windowsNode({ exec })
  const preparing = mode.prepare(settings)
  await (host.clock as unknown as { advance(ms: number): Promise<void> }).advance(1_500)
  await preparing
  expect(said()[1]).toEqual([
    'the interface for the addresses of Services cannot be looked at yet',
    { problem: expect.stringContaining('set INTERFACE_TO_ADD_SERVICE_IP') as string },
  ])
})

test.runIf(isWholeLoopbackLocal)('a node serves, remembers its addresses, and leaves none at the end', async () => {
  const { exec, ips, commands } = netshProgram(hnsNic)
  const relay = new MemoryRelay()
  const { mode } = await windowsNode({ exec, openRelay: () => Promise.resolve(relay) })
  const { backend } = await mode.createBackend('ipv4', never)
  const web = testRoute('shop/web', { clusterIP: ownLoopback(21) })
  await backend.sync(testView(web), { full: true, keys: [web.key], causes: [] }, never)
  expect([...ips]).toEqual([ownLoopback(21)])
  expect(relay.listeners).toMatchObject([{ address: { ip: ownLoopback(21), port: 80 } }])
  expect(await readFile(join(stateDir, 'service-addresses'), 'utf8')).toContain(
    `address ${ownLoopback(21)} on ${hnsNic}`,
  )
  await backend[Symbol.asyncDispose]()
  expect([...ips]).toEqual([])
  expect(commands.at(-1)).toBe(`netsh interface ipv4 delete address name=${hnsNic} address=${ownLoopback(21)}`)
})

test('render --proxy-mode=winuserspace prints the netsh lines and the listeners, on any system', async () => {
  const objects = fileURLToPath(new URL('../../../examples/manifests/cluster', import.meta.url))
  const program = memoryProgram(memoryHost())
  const flags = ['--proxy-mode=winuserspace', `--objects=${objects}`, '--node-name=node1', '--family=ipv4']
  expect(await renderCommand(flags, program)).toBe(0)
  expect(program.printed()).toContain(
    'netsh interface ipv4 add address "name=vEthernet (HNS Internal NIC)" address=10.96.0.20 mask=255.255.255.255 ' +
      'store=active skipassource=true\n',
  )
  expect(program.printed()).toContain('# default/shop:https/TCP node-port 0.0.0.0:30443 -> 10.64.1.6:8443\n')
})
