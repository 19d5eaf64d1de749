import { describe, expect, test } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { encodeMessage, messageFlag } from '../netlink/message.ts'
import { NetlinkSocket } from '../netlink/netlink-socket.ts'
import { netfilterBody } from '../netlink/nfnetlink.ts'
import { openNetlink } from '../netlink/open-netlink.ts'
import { enterFreshNamespace, missingForNamespace, run } from '../netlink/testing/network-namespace.ts'
import { ScriptedDatagrams } from '../netlink/testing/scripted-datagrams.ts'
import type { Answer } from '../netlink/testing/scripted-datagrams.ts'
import { flowKey } from './conntrack.ts'
import { encodeTuple } from './flow-messages.ts'
import { netlinkConntrack } from './netlink-conntrack.ts'
import { dumpFlows } from './testing/dump-flows.ts'
import { testFlow } from './testing/flows.ts'
import { insertFlows } from './testing/insert-flows.ts'
import { enterNamespaceForFlows, openKernelFlow } from './testing/kernel-flows.ts'

const { signal } = new AbortController()

const flowTo = (port: number) =>
  testFlow({ client: `10.64.5.5:${port}`, service: '10.96.0.10:53', endpoint: '10.64.0.2:5353' })

const listed = (port: number, flags = 0) => {
  const { original, reply } = flowTo(port)
  return encodeMessage(0x100, flags, 1, netfilterBody('ipv4', encodeTuple(1, 17, original), encodeTuple(2, 17, reply)))
}
const done = encodeMessage(3, 2, 1, Buffer.alloc(4))
function answer(sequence: number, errno: number): Buffer {
  const body = Buffer.alloc(20)
  body.writeInt32LE(-errno)
  return encodeMessage(2, messageFlag.capped, sequence, body)
}

/** A kernel that uses the next script for each new socket. */
function conntrackHearing(...scripts: readonly (readonly Answer[])[]) {
  const sockets: ScriptedDatagrams[] = []
  const log = new RecordingLogger()
  const open = async () => {
    const datagrams = new ScriptedDatagrams(...(scripts[sockets.length] ?? []))
    sockets.push(datagrams)
    return new NetlinkSocket(datagrams)
  }
  return { conntrack: netlinkConntrack({ open, log }), sockets, log }
}

const ports = (flows: Awaited<ReturnType<typeof dumpFlows>>) => flows.map(({ original }) => original.sourcePort)

describe('a table that changes while it is read', () => {
  const interrupted = [listed(1, messageFlag.dumpInterrupted), done]

  test('is read again', async () => {
    const { conntrack, sockets, log } = conntrackHearing(interrupted, [listed(1), listed(2), done])
    expect(ports(await dumpFlows(conntrack))).toEqual([1, 1, 2])
    expect(sockets.map(({ isClosed }) => isClosed)).toEqual([true, true])
    expect(log.at('debug2')).toMatchObject([{ fields: { family: 'ipv4', attempt: 1 } }])
  })

  test('five times at most; then what was read has to do', async () => {
    const { conntrack, sockets } = conntrackHearing(...Array.from({ length: 9 }, () => interrupted))
    expect(ports(await dumpFlows(conntrack))).toEqual([1, 1, 1, 1, 1])
    expect(sockets).toHaveLength(5)
  })

  test('so fast that datagrams are lost is read again too', async () => {
    const { conntrack } = conntrackHearing([listed(1), 'ENOBUFS'], [listed(1), listed(2), done])
    expect(ports(await dumpFlows(conntrack))).toEqual([1, 1, 2])
  })
})

test('a table that may not be read is an error with a way out, and is not asked for again', async () => {
  const { conntrack, sockets } = conntrackHearing([answer(1, 1)], [done])
  await expect(dumpFlows(conntrack)).rejects.toMatchObject({
    name: 'ConntrackError',
    reason: 'not-permitted',
    message: expect.stringContaining('cannot list the tracked flows: run as root'),
  })
  expect(sockets).toHaveLength(1)
  expect(sockets[0]?.isClosed).toBe(true)
})

describe('deleting flows', () => {
  const flows = [1, 2, 3].map(flowTo)

  test('tries again when answers were lost', async () => {
    const { conntrack, sockets } = conntrackHearing(['ENOBUFS'], [answer(1, 2), answer(3, 0)])
    expect(await conntrack.delete(flows, signal)).toBe(3)
    expect(sockets.map(({ sent }) => sent.length)).toEqual([1, 1])
  })

  test('gives up when answers are lost for the fifth time', async () => {
    const { conntrack, sockets } = conntrackHearing(...Array.from({ length: 9 }, () => ['ENOBUFS'] as const))
    await expect(conntrack.delete(flows, signal)).rejects.toMatchObject({ reason: 'failed', deleted: 0 })
    expect(sockets).toHaveLength(5)
  })

  test('goes on after one that fails, and tells how many are gone', async () => {
    const many = Array.from({ length: 300 }, (_, index) => flowTo(index + 1))
    const { conntrack, sockets } = conntrackHearing([answer(1, 1), answer(256, 0)], [answer(44, 0)])
    await expect(conntrack.delete(many, signal)).rejects.toMatchObject({
      name: 'ConntrackError',
      reason: 'not-permitted',
      deleted: 299,
    })
    expect(sockets).toHaveLength(2)
  })

  test('opens no socket for no flows', async () => {
    const { conntrack, sockets } = conntrackHearing()
    expect(await conntrack.delete([], signal)).toBe(0)
    expect(sockets).toEqual([])
  })
})

const missing = missingForNamespace('ip', 'iptables', 'ip6tables')
describe.skipIf(missing !== undefined)(`on the kernel${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  const conntrack = netlinkConntrack({ open: openNetlink, log: silentLogger })

  test('20,000 flows among 20,000 of TCP are all listed, and all deleted but one', async () => {
    enterFreshNamespace()
    const udp = Array.from({ length: 20_000 }, (_, index) => flowTo(10_000 + index))
    await insertFlows([...udp, ...udp.map((flow) => ({ ...flow, protocol: 6 }))])
    const flows = await dumpFlows(conntrack)
    expect(new Set(flows.map(flowKey))).toEqual(new Set(udp.map(flowKey)))

    expect(await conntrack.delete(flows.slice(1), signal)).toBe(19_999)
    expect(await dumpFlows(conntrack)).toEqual(flows.slice(0, 1))
  })

  for (const option of ['--zone 7', '--zone-orig 7', '--zone-reply 7'])
    test(`a flow in another zone (${option}) is found and deleted`, async () => {
      enterNamespaceForFlows()
      run(`iptables -w -t raw -A OUTPUT -p udp -j CT ${option}`)
      await openKernelFlow({ client: '10.64.5.5:40001', service: '10.96.0.10:53', endpoint: '10.64.0.2:5353' })
      const flows = await dumpFlows(conntrack)
      expect(flows).toHaveLength(1)
      expect(await conntrack.delete(flows, signal)).toBe(1)
      expect(await dumpFlows(conntrack)).toEqual([])
    })

  test('a flow with the same reply, but to another service, stays', async () => {
    enterFreshNamespace()
    const before = testFlow({ client: '10.64.5.5:4000', service: '10.96.0.10:53', endpoint: '10.64.0.2:5353' })
    const after = testFlow({ client: '10.64.5.5:4000', service: '10.96.0.11:53', endpoint: '10.64.0.2:5353' })
    await insertFlows([before])
    const old = await dumpFlows(conntrack)
    await conntrack.delete(old, signal)
    await insertFlows([after])
    expect(await conntrack.delete(old, signal)).toBe(1)
    expect((await dumpFlows(conntrack)).map(flowKey)).toEqual([flowKey(after)])
  })
})
