// ipset.test.ts runs the contract.
import { expect, test } from 'vitest'
import { ExecError } from '../exec/exec.ts'
import type { Exec, ExecResult } from '../exec/exec.ts'
import { commandIpset } from './command-ipset.ts'
import type { EntryChange } from './ipset.ts'

const { signal } = new AbortController()

/** Gives these answers in turn, and keeps what it was asked. */
function scripted(...answers: readonly Partial<ExecResult>[]) {
  const calls: string[] = []
  const rest = [...answers]
  const exec: Exec = async (program, args, { stdin = '' }) => {
    calls.push([program, ...args, stdin].join(' ').trim())
    return { exitCode: 0, signal: null, stdout: '', stderr: '', ...rest.shift() }
  }
  return { calls, ipset: commandIpset(exec) }
}

test('a missing tool is named with its package', async () => {
  const exec: Exec = async () => {
    throw new ExecError('not-found', 'there is no program "ipset"')
  }
  await expect(commandIpset(exec).version(signal)).rejects.toMatchObject({
    name: 'IpsetError',
    reason: 'tool-missing',
    message: expect.stringContaining('install the package ipset') as string,
  })
})

test('the version is read, and what is none is told', async () => {
  const { ipset } = scripted({ stdout: 'ipset v7.17, protocol version: 7\n' }, { stdout: 'hello\n' })
  expect(await ipset.version(signal)).toBe('7.17')
  await expect(ipset.version(signal)).rejects.toThrow('cannot read the version of ipset from "hello"')
})

test('a set that vanishes while it is listed is left out', async () => {
  const { calls, ipset } = scripted(
    { stdout: 'mine\ntheirs\n' },
    { exitCode: 1, stderr: 'ipset v7.17: Error in line 1: The set with the given name does not exist\n' },
    { stdout: 'theirs\n' },
  )
  expect(await ipset.list(['mine'], signal)).toEqual([])
  expect(calls).toEqual(['ipset list -name', 'ipset restore save mine', 'ipset list -name'])
})

test('a full set costs one process more, not one per entry', async () => {
  const add = (set: string, entry: string): EntryChange => ({ kind: 'add', set, entry })
  const { calls, ipset } = scripted({
    exitCode: 1,
    stderr: 'ipset v7.17: Error in line 3: Hash is full, cannot add more elements\n',
  })
  const errors = await ipset.apply(
    [add('small', '10.0.0.1'), add('small', '10.0.0.2'), add('small', '10.0.0.3'), add('large', '10.0.0.3')],
    signal,
  )
  expect(new Map([...errors].map(([index, { reason }]) => [index, reason]))).toEqual(
    new Map([
      [1, 'full'],
      [2, 'full'],
    ]),
  )
  expect(errors.get(2)?.message).toBe('cannot add 10.0.0.3 in the set small: as 10.0.0.2 before it')
  expect(calls.slice(1)).toEqual(['ipset restore -exist add large 10.0.0.3\nCOMMIT'])
})

test('an error that names no line ends the work: nobody knows what was done', async () => {
  const { ipset } = scripted({ exitCode: 1, stderr: 'ipset v7.17: Kernel error received: Operation not permitted\n' })
  await expect(ipset.apply([{ kind: 'add', set: 'mine', entry: '10.0.0.1' }], signal)).rejects.toMatchObject({
    reason: 'not-permitted',
  })
})
