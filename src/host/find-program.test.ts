import { posix } from 'node:path'
import { expect, test } from 'vitest'
import { findProgram, hiddenNote } from './find-program.ts'
import type { Look } from './find-program.ts'

const machine: Look = (path) =>
  path.startsWith('/root/') ? 'hidden' : ['/usr/bin/nft', '/opt/bin/nft'].includes(path) ? 'file' : 'nothing'

test('the first folder that has the program wins', () => {
  expect(findProgram('nft', '/bin:/root/bin:/opt/bin:/usr/bin', machine, posix)).toEqual({
    kind: 'found',
    file: '/opt/bin/nft',
  })
})

test('a program that is nowhere is missing, and folders that could not be seen are named once', () => {
  const missing = findProgram('nope', '/root/bin:/bin:/root/go:/root/bin', machine, posix)
  expect(missing).toEqual({ kind: 'missing', hidden: ['/root/bin', '/root/go'] })
  expect(missing.kind === 'missing' && hiddenNote(missing)).toBe(' (this user may not look into /root/bin, /root/go)')
})

test('a program with a folder is looked for there only', () => {
  expect(findProgram('./nft', '/usr/bin', machine)).toEqual({ kind: 'missing', hidden: [] })
  expect(findProgram('/usr/bin/nft', '', machine)).toEqual({ kind: 'found', file: '/usr/bin/nft' })
  expect(findProgram('/root/nft', '', machine)).toEqual({ kind: 'found', file: '/root/nft' })
})
