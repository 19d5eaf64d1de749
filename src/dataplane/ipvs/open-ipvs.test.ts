import { expect, test } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import { ExecError } from '../exec/exec.ts'
import type { Exec } from '../exec/exec.ts'
import { NetlinkError } from '../netlink/netlink-error.ts'
import { NetlinkSocket } from '../netlink/netlink-socket.ts'
import { ScriptedDatagrams } from '../netlink/testing/scripted-datagrams.ts'
import { openIpvs } from './open-ipvs.ts'

const { signal } = new AbortController()

function recordingExec() {
  const commands: string[] = []
  const exec: Exec = async (program, args) => {
    commands.push([program, ...args].join(' '))
    return { exitCode: 0, signal: null, stdout: '', stderr: '' }
  }
  return { commands, exec }
}

test('the module is loaded first, then netlink is used where it works', async () => {
  const { commands, exec } = recordingExec()
  const datagrams = new ScriptedDatagrams()
  const openNetlink = async () => new NetlinkSocket(datagrams)
  const ipvs = await openIpvs({ openNetlink, exec, log: silentLogger, signal })
  expect(commands).toEqual(['modprobe -va ip_vs'])
  await expect(ipvs.list(signal)).rejects.toThrow('cannot find')
  expect(datagrams.sent).toHaveLength(1)
})

test('where netlink is out of reach, the command is used', async () => {
  const { commands, exec } = recordingExec()
  const openNetlink = async () => {
    throw new NetlinkError('unsupported', 'no netlink')
  }
  const ipvs = await openIpvs({ openNetlink, exec, log: silentLogger, signal })
  expect(await ipvs.list(signal)).toEqual([])
  expect(commands).toEqual(['modprobe -va ip_vs', 'ipvsadm -L -n --exact'])
})

test('a container without modprobe goes on: the module may be loaded already', async () => {
  const exec: Exec = async () => {
    throw new ExecError('not-found', 'there is no program "modprobe"')
  }
  const openNetlink = async () => new NetlinkSocket(new ScriptedDatagrams())
  await expect(openIpvs({ openNetlink, exec, log: silentLogger, signal })).resolves.toBeDefined()
})
