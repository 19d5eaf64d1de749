import { execFileSync } from 'node:child_process'
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ensurePrivateFolder, readPrivateFile, replaceFile } from './private-file.ts'

const onWindows = process.platform === 'win32'
/** Windows has no modes. */
const ownerOnly = onWindows ? 0o666 : 0o600
const isRoot = process.getuid?.() === 0

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairlead-private-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

const file = () => join(folder, 'state')
const write = (text: string) => replaceFile(file(), (append) => append(text))

describe('a private file', () => {
  test('is written for its owner alone, replaced as a whole, and read back', async () => {
    await write('one')
    await write('two')
    expect(await readPrivateFile(file())).toEqual({ kind: 'text', text: 'two' })
    expect((await stat(file())).mode & 0o777).toBe(ownerOnly)
    expect(await readdir(folder)).toEqual(['state'])
  })

  test('that is not there is none', async () => {
    expect(await readPrivateFile(file())).toEqual({ kind: 'none' })
    expect(await readPrivateFile(join(folder, 'missing', 'state'))).toEqual({ kind: 'none' })
  })

  test.skipIf(onWindows)(
    'is not read through a symbolic link, and a link in its place is replaced, not followed (not on Windows: Wine makes no links)',
    async () => {
      const victim = join(folder, 'victim')
      await writeFile(victim, 'precious', { mode: 0o600 })
      await symlink(victim, file())
      expect(await readPrivateFile(file())).toEqual({
        kind: 'refused',
        reason: `${file()} is a symbolic link, which is not followed`,
      })
      await write('mine')
      expect(await readFile(victim, 'utf8')).toBe('precious')
      expect((await lstat(file())).isSymbolicLink()).toBe(false)
    },
  )

  test.skipIf(onWindows)(
    'is not written through a link at the name that temporary files had (not on Windows: Wine makes no links)',
    async () => {
      const victim = join(folder, 'victim')
      await writeFile(victim, 'precious')
      await symlink(victim, `${file()}.new`)
      await write('mine')
      expect(await readFile(victim, 'utf8')).toBe('precious')
    },
  )

  test.skipIf(onWindows).each([0o620, 0o602, 0o666])(
    'of mode %o is refused: others may have written it (not on Windows: modes)',
    async (mode) => {
      await write('mine')
      await chmod(file(), mode)
      expect(await readPrivateFile(file())).toMatchObject({
        kind: 'refused',
        reason: `${file()} may be written by others (mode 0${mode.toString(8)}): chmod go-w it`,
      })
    },
  )

  test.skipIf(onWindows)(
    'in a folder that others may write in is refused, and not written (not on Windows: modes)',
    async () => {
      await write('mine')
      await chmod(folder, 0o770)
      const reason = `${folder} may be written by others (mode 0770): chmod go-w it`
      expect(await readPrivateFile(file())).toEqual({ kind: 'refused', reason })
      await expect(ensurePrivateFolder(folder)).rejects.toThrow(reason)
    },
  )

  test.skipIf(!isRoot)('of another user is refused (needs root to make one)', async () => {
    await write('mine')
    await chown(file(), 12_345, 12_345)
    const refused = await readPrivateFile(file())
    expect(refused).toMatchObject({ kind: 'refused', reason: expect.stringContaining('belongs to user 12345') })
  })

  test.skipIf(onWindows)('that is a named pipe is refused at once (not on Windows: mkfifo)', async () => {
    execFileSync('mkfifo', ['-m', '600', file()])
    expect(await readPrivateFile(file())).toEqual({ kind: 'refused', reason: `${file()} is not a regular file` })
  })

  test('that is a folder is refused', async () => {
    await mkdir(join(folder, 'inner'))
    expect(await readPrivateFile(join(folder, 'inner'))).toMatchObject({ kind: 'refused' })
  })

  test('that could not be written leaves the old content and nothing beside it', async () => {
    await write('old')
    const failing = replaceFile(file(), async (append) => {
      await append('half')
      throw new Error('disk full')
    })
    await expect(failing).rejects.toThrow('disk full')
    expect(await readdir(folder)).toEqual(['state'])
    expect(await readFile(file(), 'utf8')).toBe('old')
  })

  test('takes away what a crash in the middle of writing left behind, once it is old', async () => {
    const [old, young] = [`.state.${'a'.repeat(24)}.new`, `.state.${'b'.repeat(24)}.new`]
    for (const name of [old, young]) await writeFile(join(folder, name), '')
    await utimes(join(folder, old), 0, 0)
    await write('mine')
    expect((await readdir(folder)).sort()).toEqual([young, 'state'])
  })
})

test.skipIf(onWindows)('a private folder is made for its owner alone (not on Windows: modes)', async () => {
  await ensurePrivateFolder(join(folder, 'a', 'b'))
  expect((await stat(join(folder, 'a', 'b'))).mode & 0o777).toBe(0o700)
})
