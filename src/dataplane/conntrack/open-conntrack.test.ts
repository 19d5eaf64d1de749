import { expect, test } from 'vitest'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import type { Exec } from '../exec/exec.ts'
import { NetlinkError } from '../netlink/netlink-error.ts'
import { NetlinkSocket } from '../netlink/netlink-socket.ts'
import { ScriptedDatagrams } from '../netlink/testing/scripted-datagrams.ts'
import { openConntrack } from './open-conntrack.ts'
import { dumpFlows } from './testing/dump-flows.ts'

const noTool: Exec = () => Promise.reject(new Error('the command was run'))

test('netlink is used where it works, and the socket that found out is closed', async () => {
  const sockets: ScriptedDatagrams[] = []
  const openNetlink = async () => {
    const datagrams = new ScriptedDatagrams()
    sockets.push(datagrams)
    return new NetlinkSocket(datagrams)
  }
  const conntrack = await openConntrack({ openNetlink, exec: noTool, log: new RecordingLogger() })
  expect(sockets.map(({ isClosed }) => isClosed)).toEqual([true])
  await expect(dumpFlows(conntrack)).rejects.toMatchObject({ name: 'ConntrackError' })
  expect(sockets).toHaveLength(2)
})

test('the command is used where netlink is out of reach, and somebody is told why', async () => {
  const log = new RecordingLogger()
  const openNetlink = () => Promise.reject(new NetlinkError('unsupported', 'koffi does not load'))
  const conntrack = await openConntrack({ openNetlink, exec: noTool, log })
  await expect(dumpFlows(conntrack)).rejects.toThrow('the command was run')
  expect(log.at('info')).toMatchObject([{ fields: { error: { message: 'koffi does not load' } } }])
})
