import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withLockedFolder } from '../../host/testing/locked-folder.ts'
import { mayChangeMachine } from './privileges.ts'

test('on Linux it is root', () => {
  expect(mayChangeMachine('linux', {})).toBe(process.getuid?.() === 0)
})

test('on Windows it is whoever may look into the folder of the registry', async () => {
  const open = await mkdtemp(join(tmpdir(), 'fairlead-system-root-'))
  await mkdir(join(open, 'System32/config'), { recursive: true })
  expect(mayChangeMachine('win32', { SystemRoot: open })).toBe(true)
  await rm(open, { recursive: true })
  await withLockedFolder(async (locked) => {
    expect(mayChangeMachine('win32', { SystemRoot: locked })).toBe(false)
  })
})
