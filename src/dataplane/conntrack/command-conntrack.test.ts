import { describe, expect, test } from 'vitest'
import { ExecError } from '../exec/exec.ts'
import type { Exec, ExecResult } from '../exec/exec.ts'
import { commandConntrack, parseConnectionLine, parseFlowLine } from './command-conntrack.ts'
import { dumpFlows } from './testing/dump-flows.ts'
import { testFlow } from './testing/flows.ts'

const { signal } = new AbortController()

const dns = testFlow({ client: '10.64.5.5:38002', service: '10.96.0.10:53', endpoint: '10.64.0.2:5353' })
const dnsLine =
  'udp      17 29 src=10.64.5.5 dst=10.96.0.10 sport=38002 dport=53 [UNREPLIED] src=10.64.0.2 dst=10.64.5.5 sport=5353 dport=38002 mark=0 use=1'

describe('a line of `conntrack -L`', () => {
  test('is read as a flow', () => {
    expect(parseFlowLine(dnsLine)).toEqual(dns)
  })

  test('may have counters, flags, zones and labels between its parts', () => {
    const line =
      'udp      17 170 src=10.64.5.5 dst=10.96.0.10 sport=38002 dport=53 zone-orig=7 packets=4 bytes=240 src=10.64.0.2 dst=10.64.5.5 sport=5353 dport=38002 packets=4 bytes=300 [ASSURED] mark=1 secctx=x zone=2 use=1 id=7'
    expect(parseFlowLine(line)).toEqual(dns)
  })

  test('may be about IPv6, whose addresses become canonical', () => {
    const line =
      'udp      17 29 src=fd00:0::5 dst=fd00:96::10 sport=38002 dport=53 src=fd00:64::2 dst=fd00::5 sport=5353 dport=38002 mark=0 use=1'
    expect(parseFlowLine(line)).toEqual(
      testFlow({ client: '[fd00::5]:38002', service: '[fd00:96::10]:53', endpoint: '[fd00:64::2]:5353' }),
    )
  })

  for (const line of [
    '',
    'conntrack v1.4.7 (conntrack-tools): 1 flow entries have been shown.',
    dnsLine.replace('udp      17', 'tcp      6'),
    dnsLine.slice(0, 90),
    dnsLine.replace('10.96.0.10', '10.96.0.300'),
  ])
    test(`that is no UDP flow is passed over: "${line.slice(0, 60)}"`, () =>
      expect(parseFlowLine(line)).toBeUndefined())
})

type Run = Partial<ExecResult> | ExecError

/** A machine on which `conntrack` gives these answers in turn. */
function conntrackDoing(...runs: readonly Run[]) {
  const commandLines: string[] = []
  const exec: Exec = async (program, args) => {
    const result = runs[commandLines.length] ?? {}
    commandLines.push([program, ...args].join(' '))
    if (result instanceof ExecError) throw result
    return { exitCode: 0, signal: null, stdout: '', stderr: '', ...result }
  }
  return { conntrack: commandConntrack(exec), commandLines }
}

describe('listing', () => {
  test('asks for one family and for UDP, and gives a long list in batches', async () => {
    const { conntrack, commandLines } = conntrackDoing({ stdout: `${dnsLine}\n`.repeat(2500) })
    const sizes: number[] = []
    for await (const batch of conntrack.dump('ipv6', signal)) sizes.push(batch.length)
    expect(sizes).toEqual([1000, 1000, 500])
    expect(commandLines).toEqual(['conntrack -L -p udp -f ipv6'])
  })

  const interrupted: Run = { exitCode: 1, stdout: dnsLine, stderr: 'Operation failed: Interrupted system call' }

  test('starts again when the table changed meanwhile', async () => {
    const { conntrack } = conntrackDoing(interrupted, { stdout: dnsLine })
    expect(await dumpFlows(conntrack)).toEqual([dns, dns])
  })

  test('starts five times at most; then what was read has to do', async () => {
    const { conntrack, commandLines } = conntrackDoing(...Array.from({ length: 9 }, () => interrupted))
    expect(await dumpFlows(conntrack)).toHaveLength(5)
    expect(commandLines).toHaveLength(5)
  })

  for (const [reason, run] of [
    ['tool-missing', new ExecError('not-found', 'there is no program "conntrack": install it')],
    ['failed', new ExecError('too-much-output', 'ended "conntrack": it printed more')],
    ['not-permitted', { exitCode: 1, stderr: 'Operation failed: sorry, you must be root or get CAP_NET_ADMIN' }],
    ['failed', { exitCode: 2, stderr: 'unknown option' }],
  ] as const)
    test(`fails with "${reason}" when the command does: ${run instanceof ExecError ? run.reason : run.stderr}`, async () => {
      const { conntrack } = conntrackDoing(run)
      await expect(dumpFlows(conntrack)).rejects.toMatchObject({ name: 'ConntrackError', reason })
    })
})

describe('deleting', () => {
  const clients = Array.from({ length: 100 }, (_, index) => `10.64.5.5:${40_000 + index}`)
  const flowsTo = (endpoint: string) =>
    clients.map((client) => testFlow({ client, service: '10.96.0.10:53', endpoint }))
  const flows = [...flowsTo('10.64.0.2:5353'), ...flowsTo('10.64.0.3:5353')]

  test('runs the command once for each way from a service to an endpoint, however many flows go that way', async () => {
    const { conntrack, commandLines } = conntrackDoing()
    expect(await conntrack.delete(flows, signal)).toBe(200)
    const way = 'conntrack -D -p udp -f ipv4 --orig-dst 10.96.0.10 --orig-port-dst 53'
    expect(commandLines).toEqual([
      `${way} --reply-src 10.64.0.2 --reply-port-src 5353`,
      `${way} --reply-src 10.64.0.3 --reply-port-src 5353`,
    ])
  })

  test('tells how many flows were gone when it failed', async () => {
    const { conntrack } = conntrackDoing({}, { exitCode: 1, stderr: 'get CAP_NET_ADMIN capability' })
    await expect(conntrack.delete(flows, signal)).rejects.toMatchObject({ reason: 'not-permitted', deleted: 100 })
  })

  test('does not mistake ten deleted flows for none', async () => {
    const { conntrack } = conntrackDoing({ exitCode: 1, stderr: 'Operation failed: 10 flow entries have been deleted' })
    await expect(conntrack.delete(flows, signal)).rejects.toMatchObject({ reason: 'failed', deleted: 0 })
  })
})

test('a line of a connection has its state, and its bytes if the kernel counts them', () => {
  const directions = 'src=10.64.5.5 dst=10.96.0.10 sport=40001 dport=80'
  const reply = 'src=10.64.0.2 dst=10.64.5.5 sport=8080 dport=40001'
  const line = (state: string) =>
    `tcp      6 431999 ${state} ${directions} packets=3 bytes=180 ${reply} packets=2 bytes=120 [ASSURED] mark=0 use=1`
  expect(parseConnectionLine(line('ESTABLISHED'))).toEqual({
    protocol: 6,
    original: { sourceIp: '10.64.5.5', sourcePort: 40_001, destinationIp: '10.96.0.10', destinationPort: 80 },
    reply: { sourceIp: '10.64.0.2', sourcePort: 8080, destinationIp: '10.64.5.5', destinationPort: 40_001 },
    isOpen: true,
    bytesIn: 180,
    bytesOut: 120,
  })
  expect(parseConnectionLine(line('TIME_WAIT'))).toMatchObject({ isOpen: false })
  const uncounted = parseConnectionLine(`udp      17 29 ${directions} [UNREPLIED] ${reply} mark=0 use=1`)
  expect(uncounted).toMatchObject({ protocol: 17, isOpen: true })
  expect(uncounted).not.toHaveProperty('bytesIn')
  expect(parseConnectionLine('icmp     1 29 src=10.0.0.1 dst=10.0.0.2 type=8 code=0 id=1')).toBeUndefined()
})
