import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { closingArguments, makePrivateFolder } from './private-folder.ts'

let root = ''
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'fairlead-private-'))))
afterEach(() => rmSync(root, { recursive: true }))

test('on Windows the first folder that had to be made is closed to others, and with it all below', () => {
  const closed: string[] = []
  const make = () => makePrivateFolder(join(root, 'fairlead', 'logs'), 'win32', (folder) => void closed.push(folder))
  make()
  expect(closed).toEqual([join(root, 'fairlead')])
  make()
  expect(closed).toHaveLength(1)
})

test('the rights go to LocalSystem, administrators and the owner, whatever the language of Windows', () => {
  expect(closingArguments('C:\\x').join(' ')).toBe(
    'C:\\x /inheritance:r /grant:r *S-1-5-18:(OI)(CI)F /grant:r *S-1-5-32-544:(OI)(CI)F /grant:r *S-1-3-4:(OI)(CI)F',
  )
})

test.skipIf(process.platform === 'win32')('elsewhere the mode is enough (Windows has none)', () => {
  makePrivateFolder(join(root, 'state'), 'linux', () => expect.fail('must not be called'))
  expect(statSync(join(root, 'state')).mode & 0o777).toBe(0o700)
})
