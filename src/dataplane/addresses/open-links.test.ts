// What needs a kernel with dummy links is in tests/ipvs.
import { expect, test } from 'vitest'
import { scriptedExec } from '../iptables/testing/scripted-exec.ts'
import { NetlinkError } from '../netlink/netlink-error.ts'
import { openLinks } from './open-links.ts'

const { signal } = new AbortController()
const openNetlink = () => Promise.reject(new NetlinkError('unsupported', 'no netlink here'))

/** The part of the output of `ip -json -details address show` that we read. */
const shown = JSON.stringify([
  { ifname: 'kube-ipvs0', linkinfo: { info_kind: 'dummy' }, addr_info: [{ family: 'inet', local: '10.96.0.1' }] },
])

test('where netlink does not work, the ip command is asked, and removes the link', async () => {
  const { exec, commands } = scriptedExec(() => ({ stdout: shown }))
  const links = await openLinks({ openNetlink, exec })
  expect(await links.find('kube-ipvs0', signal)).toEqual({ kind: 'dummy', ips: ['10.96.0.1'] })
  await links.removeDummy('kube-ipvs0', signal)
  expect(commands.at(-1)).toBe('ip link delete dev kube-ipvs0')
})

test('a refusal of the ip command is told in its words', async () => {
  const stderr = 'RTNETLINK answers: Device or resource busy\n'
  const { exec } = scriptedExec((command) =>
    command.startsWith('ip link delete') ? { exitCode: 2, stderr } : { stdout: shown },
  )
  const links = await openLinks({ openNetlink, exec })
  await expect(links.removeDummy('kube-ipvs0', signal)).rejects.toMatchObject({
    reason: 'refused',
    message: 'cannot remove the link kube-ipvs0: RTNETLINK answers: Device or resource busy',
  })
})

test('no link is found where there is neither netlink nor the ip command', async () => {
  const { exec } = scriptedExec(() => undefined)
  const links = await openLinks({ openNetlink, exec })
  expect(await links.find('kube-ipvs0', signal)).toBeUndefined()
  await links.removeDummy('kube-ipvs0', signal)
})
