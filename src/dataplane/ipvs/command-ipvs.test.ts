// tests/ipvs runs the contract.
import { expect, test } from 'vitest'
import { ExecError } from '../exec/exec.ts'
import type { Exec, ExecResult } from '../exec/exec.ts'
import { commandIpvs } from './command-ipvs.ts'
import type { VirtualServer } from './ipvs.ts'

const { signal } = new AbortController()
const web: VirtualServer = { ip: '10.96.0.10', port: 80, protocol: 'TCP', scheduler: 'rr', flags: 0, timeoutSeconds: 0 }

const said = (result: Partial<ExecResult>): ExecResult => ({
  exitCode: 0,
  signal: null,
  stdout: '',
  stderr: '',
  ...result,
})

test('a missing tool is named with its package', async () => {
  const exec: Exec = async () => {
    throw new ExecError('not-found', 'there is no program "ipvsadm"')
  }
  await expect(commandIpvs(exec).list(signal)).rejects.toMatchObject({
    name: 'IpvsError',
    reason: 'tool-missing',
    message: expect.stringContaining('install the package ipvsadm') as string,
  })
})

test('a kernel without IPVS is named with the module to load', async () => {
  const stderr =
    "Can't initialize ipvs: Protocol not available\nAre you sure that IP Virtual Server is built in the kernel?"
  const exec: Exec = async () => said({ exitCode: 2, stderr })
  await expect(commandIpvs(exec).list(signal)).rejects.toMatchObject({
    reason: 'module-missing',
    message: expect.stringContaining('"modprobe ip_vs"') as string,
  })
})

test('a user without the right is told which one', async () => {
  const exec: Exec = async () => said({ exitCode: 255, stderr: 'Permission denied (you must be root)' })
  await expect(commandIpvs(exec).flush(signal)).rejects.toMatchObject({
    reason: 'not-permitted',
    message: expect.stringContaining('CAP_NET_ADMIN') as string,
  })
})

test('what the tool refuses for a reason of its own is found by looking at what came of it', async () => {
  const listed = 'TCP  10.96.0.9:80 rr\n'
  const after = `${listed}TCP  10.96.0.10:80 rr\n`
  const answers = [said({ stdout: listed }), said({ stderr: 'Memory allocation problem' }), said({ stdout: after })]
  const scripts: unknown[] = []
  const exec: Exec = async (_program, _args, { stdin }) => {
    if (stdin !== '') scripts.push(stdin)
    return answers.shift() ?? said({})
  }
  const errors = await commandIpvs(exec).apply(
    [
      { kind: 'add-server', server: web },
      { kind: 'add-server', server: { ...web, port: 81 } },
      { kind: 'delete-server', server: { ...web, port: 82 } },
    ],
    signal,
  )
  expect(scripts).toEqual(['-A -t 10.96.0.10:80 -s rr\n-A -t 10.96.0.10:81 -s rr\n'])
  expect(new Map([...errors].map(([index, { reason }]) => [index, reason]))).toEqual(
    new Map([
      [1, 'refused'],
      [2, 'not-found'],
    ]),
  )
  expect(errors.get(1)?.message).toBe('cannot add the virtual server 10.96.0.10:81/TCP: Memory allocation problem')
})
