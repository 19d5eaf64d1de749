import { expect, test } from 'vitest'
import { ipv4Backend } from '../../backends/ebpf/testing/ipv4-backend.ts'
import { MemoryNode } from '../../backends/ebpf/testing/memory-node.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import { MemoryBpf } from '../../dataplane/ebpf/memory-bpf.ts'
import { MemoryKernel } from '../../dataplane/ebpf/memory-kernel.ts'
import { memoryHost, memoryProgram } from '../host/testing/memory-host.ts'
import { socketsCommand } from './sockets-command.ts'

async function sockets(...argv: readonly string[]): Promise<string> {
  const kernel = new MemoryKernel({ bpffs: '/sys/fs/bpf', cgroups: [] })
  const printed: string[] = []
  const program = memoryProgram(memoryHost({ openBpf: () => Promise.resolve(new MemoryBpf(kernel)) }))
  await socketsCommand(argv, { ...program, out: (text) => void printed.push(text) })
  return printed.join('')
}

test('where nothing is pinned, it says so', async () => {
  await expect(sockets()).rejects.toThrow('nothing is pinned in /sys/fs/bpf/fairlead')
  await expect(sockets('--ebpf-pins=/sys/fs/bpf/other')).rejects.toThrow('nothing is pinned in /sys/fs/bpf/other')
})

test('its help names its flags', async () => {
  expect(await sockets('--help')).toContain('--ebpf-pins')
})

/** What is printed of a node with one Service, so long after the last sign of life of its proxy. */
async function printed({ laterMs = 0, ips = [], argv = [] }: Case) {
  const [node, clock] = [new MemoryNode(), new FakeClock()]
  const balancer = node.newBalancer(clock, { families: ['ipv4'] })
  const backend = ipv4Backend({ balancer, clock, node: () => ({ ownIps: new Set(), nodePortIps: new Set(ips) }) })
  const route = testRoute('shop/web', { endpoints: [testEndpoint('10.64.1.1', 8080)] })
  const change = { full: true, keys: [route.key], causes: [] }
  await backend.sync(testView(route), change, new AbortController().signal)
  await clock.advance(laterMs)
  const host = memoryHost({ openBpf: () => Promise.resolve(new MemoryBpf(node.kernel)) })
  const process = { ...host.process, monotonicNs: () => BigInt(Math.round(clock.monotonic() * 1e6)) }
  const program = memoryProgram({ ...host, process })
  const told = { out: '', err: '' }
  const [out, err] = [(text: string) => void (told.out += text), (text: string) => void (told.err += text)]
  await socketsCommand(['--ebpf-pins=/bpf/fairlead', ...argv], { ...program, out, err })
  return told
}

interface Case {
  readonly laterMs?: number
  /** Where hooks open node ports. */
  readonly ips?: readonly string[]
  readonly argv?: readonly string[]
}

const web = '10.96.0.10:80/TCP internal connections=0 -> 10.64.1.1:8080\n'

test.each([
  [0, ''],
  [301_000, 'Note: the lease is over, so the programs leave everything to nftables: no Fairlead looks after them.\n'],
])('%i ms after the last sign of life, it says whether the programs still serve', async (laterMs, note) => {
  expect(await printed({ laterMs })).toEqual({ out: `node-port addresses: none\n${web}`, err: note })
})

test('it shows the addresses at which hooks open node ports', async () => {
  const ips = ['192.0.2.20', '10.0.0.7', '192.0.2.11']
  const line = 'node-port addresses: 10.0.0.7 192.0.2.11 192.0.2.20\n'
  expect(await printed({ ips })).toEqual({ out: `${line}${web}`, err: '' })
  expect((await printed({ ips, argv: ['--filter=192.0.2.11'] })).out).toBe(line)
  expect((await printed({ ips, argv: ['--filter=10.96.0.10'] })).out).toBe(web)
  expect(JSON.parse((await printed({ ips, argv: ['--output=json'] })).out)).toMatchObject({
    nodePortAddresses: ['10.0.0.7', '192.0.2.11', '192.0.2.20'],
    frontends: [{ at: '10.96.0.10:80/TCP' }],
  })
})
