import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { NetlinkError } from '../netlink/netlink-error.ts'
import { openNetlink } from '../netlink/open-netlink.ts'
import { enterFreshNamespace, missingForNamespace, run } from '../netlink/testing/network-namespace.ts'
import { MemoryNfacct } from './memory-nfacct.ts'
import { netlinkNfacct } from './netlink-nfacct.ts'
import { nfacctContract } from './nfacct.contract.ts'
import { isNfacctUsable } from './probe-nfacct.ts'

const { signal } = new AbortController()

nfacctContract('MemoryNfacct', async () => {
  const nfacct = new MemoryNfacct()
  return { nfacct, count: async (name) => nfacct.count(name, 100), use: (name) => nfacct.use(name) }
})

const missing = missingForNamespace('iptables', 'ip')
describe.skipIf(missing !== undefined)(`on the kernel${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  nfacctContract('netlinkNfacct', async () => {
    enterFreshNamespace()
    return { nfacct: netlinkNfacct({ open: openNetlink }), count: countPacket, use: useCounter }
  })

  test('a counter that another program makes at the same moment is not an error', async () => {
    enterFreshNamespace()
    const [one, other] = [netlinkNfacct({ open: openNetlink }), netlinkNfacct({ open: openNetlink })]
    await Promise.all([one.ensure('dropped', signal), other.ensure('dropped', signal), one.ensure('dropped', signal)])
    expect(await one.read('dropped', signal)).toEqual({ packets: 0, bytes: 0 })
  })
})

test('rules are written without counters, and somebody is told why, where the kernel has none', async () => {
  for (const reason of ['unsupported', 'not-permitted', 'failed'] as const) {
    const log = new RecordingLogger()
    const nfacct = netlinkNfacct({ open: () => Promise.reject(new NetlinkError(reason, 'no netlink here')) })
    expect(await isNfacctUsable(nfacct, log, signal)).toBe(false)
    expect(log.at('info')).toMatchObject([{ fields: { error: { reason, message: 'no netlink here' } } }])
  }
})

function useCounter(name: string): void {
  run(`iptables -A OUTPUT -m nfacct --nfacct-name ${name}`)
}

/** 72 bytes of data, 8 of UDP header and 20 of IP header. */
async function countPacket(name: string): Promise<void> {
  const rule = `OUTPUT -p udp -d 127.0.0.1 -m nfacct --nfacct-name ${name} -j ACCEPT`
  run(`iptables -A ${rule}`)
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  await new Promise((resolve) => socket.send(Buffer.alloc(72), socket.address().port, '127.0.0.1', resolve))
  socket.close()
  run(`iptables -D ${rule}`)
}
