import { describe, expect, test } from 'vitest'
import { ExecError } from '../../exec/exec.ts'
import { startError, toolError } from './tool-error.ts'

const script = [
  'add table ip fairlead',
  'add element ip fairlead services { 10.0.0.9 . tcp . 80 : drop, 10.0.0.1 . tcp . 80 : drop }',
  'add chain ip fairlead nat-prerouting { type nat hook prerouting priority -90 ; }',
  'add rule ip fairlead services goto nowhere',
  '',
].join('\n')

function failed(stderr: string) {
  return toolError('change the table ip fairlead', { exitCode: 1, signal: null, stdout: '', stderr }, script)
}

describe('what nft complains about becomes a reason', () => {
  for (const [complaint, reason] of [
    ['/dev/stdin:4:30-36: Error: Could not process rule: No such file or directory', 'missing'],
    ['Error: No such file or directory', 'missing'],
    ['/dev/stdin:2:36-54: Error: element does not exist', 'missing'],
    ['/dev/stdin:2:36-54: Error: Could not process rule: File exists', 'exists'],
    ['/dev/stdin:2:36-54: Error: interval overlaps with an existing one', 'exists'],
    ['/dev/stdin:3:1-74: Error: Could not process rule: Operation not supported', 'exists'],
    ['/dev/stdin:4:1-74: Error: Could not process rule: Operation not supported', 'refused'],
    ['/dev/stdin:2:1-9: Error: Could not process rule: Device or resource busy', 'busy'],
    ['Operation not permitted (you must be root)', 'not-permitted'],
    ['netlink: Error: cache initialization failed: Operation not permitted', 'not-permitted'],
    ['netlink: Error: cache initialization failed: Protocol not supported', 'no-kernel-support'],
    ['/dev/stdin:4:1-9: Error: syntax error, unexpected string', 'refused'],
    ['/dev/stdin:4:1-9: Error: Could not process rule: Cannot allocate memory', 'failed'],
  ] as const)
    test(`${reason} for "${complaint}"`, () => expect(failed(`${complaint}\n`)).toMatchObject({ reason }))
})

test('only the first line decides: what follows may be its consequence', () => {
  const stderr = [
    '/dev/stdin:4:1-9: Error: syntax error, unexpected string',
    'add rule ip fairlead services goto nowhere',
    '/dev/stdin:4:30-36: Error: Could not process rule: No such file or directory',
  ].join('\n')
  expect(failed(stderr)).toMatchObject({ reason: 'refused' })
})

test('the message shows what nft points at, and more than one place', () => {
  const stderr = [
    '/dev/stdin:2:64-82: Error: Could not process rule: File exists',
    'add element ip fairlead services { … }',
    '                                   ^^^',
    '/dev/stdin:4:36-42: Error: Could not process rule: No such file or directory',
  ].join('\n')
  expect(failed(stderr).message).toBe(
    'cannot change the table ip fairlead: "add element ip fairlead services" with "10.0.0.1 . tcp . 80": File exists; ' +
      'also "add rule ip fairlead services goto nowhere": No such file or directory',
  )
})

test('hundreds of complaints make no endless message', () => {
  const stderr = '/dev/stdin:4:36-42: Error: Could not process rule: No such file or directory\n'.repeat(300)
  expect(failed(stderr).message).toMatch(/; 295 more$/)
})

test('an nft that was killed, or says nothing, may do better next time', () => {
  const result = { exitCode: null, signal: 'SIGKILL', stdout: '', stderr: '' } as const
  expect(toolError('list the table', result)).toMatchObject({
    reason: 'failed',
    message: 'cannot list the table: nft was killed by SIGKILL',
  })
  expect(failed('').message).toContain('code 1')
})

test('an nft that cannot be started is missing, or not ours to run; other errors pass', () => {
  const start = (reason: ExecError['reason']) => startError('list the table', new ExecError(reason, 'why'))
  expect(start('not-found')).toMatchObject({ reason: 'no-tool', message: 'cannot list the table: why' })
  expect(start('not-permitted')).toMatchObject({ reason: 'not-permitted' })
  expect(start('cannot-start')).toMatchObject({ reason: 'failed' })
  const stopping = new Error('stopping')
  expect(startError('list the table', stopping)).toBe(stopping)
})
