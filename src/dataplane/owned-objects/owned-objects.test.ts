import { mkdir, mkdtemp, readFile, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { openOwnedObjects } from './file-owned-objects.ts'
import { MemoryOwnedObjects } from './memory-owned-objects.ts'
import { ownedObjectsContract } from './owned-objects.contract.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairlead-owned-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

const file = () => join(folder, 'state', 'hns-objects')
const reopen = (log = silentLogger) => openOwnedObjects({ path: file(), log })

ownedObjectsContract('MemoryOwnedObjects', async () => new MemoryOwnedObjects())
ownedObjectsContract('a file', () => reopen())

test('a record in memory can begin with something', () => {
  expect(new MemoryOwnedObjects(['a', 'b']).list()).toEqual(['a', 'b'])
})

describe('a file', () => {
  test('is read again by the next process', async () => {
    const owned = await reopen()
    await owned.add(['a', 'b', 'ü 🦊'])
    await owned.remove(['b'])
    expect((await reopen()).list()).toEqual(['a', 'ü 🦊'])
  })

  test('grows by what is added, and not by what it has', async () => {
    const owned = await reopen()
    await owned.add(Array.from({ length: 1000 }, (_, i) => `balancer ${i}`))
    const before = (await stat(file())).size
    await owned.add(['endpoint 10.64.2.7'])
    await owned.add(['endpoint 10.64.2.7'])
    await owned.remove(['nothing'])
    expect((await stat(file())).size - before).toBe('01234567 +endpoint 10.64.2.7\n'.length)
  })

  test('does not grow without end', async () => {
    const owned = await reopen()
    await owned.add(['kept'])
    let largest = 0
    for (let round = 0; round < 30; round++) {
      const objects = Array.from({ length: 100 }, (_, i) => `endpoint ${i}`)
      await owned.add(objects)
      await owned.remove(objects)
      largest = Math.max(largest, (await stat(file())).size)
    }
    expect(largest).toBeLessThan(60_000)
    expect((await reopen()).list()).toEqual(['kept'])
    expect(await readdir(join(folder, 'state'))).toEqual(['hns-objects'])
  })

  test('may be cut off at any byte of its last line, which was not relied on yet', async () => {
    const owned = await reopen()
    await owned.add(['first'])
    const kept = (await stat(file())).size
    await owned.add(['second'])
    const whole = await readFile(file())
    for (let length = kept; length < whole.length; length++) {
      await writeFile(file(), whole)
      await truncate(file(), length)
      const log = new RecordingLogger()
      const next = await reopen(log)
      expect([next.list(), log.lines]).toEqual([['first'], []])
      await next.add(['third'])
      expect((await reopen(log)).list()).toEqual(['first', 'third'])
    }
  })

  test('may be cut off in its first line', async () => {
    await (await reopen()).add(['first'])
    for (const length of [0, 5]) {
      await truncate(file(), length)
      const log = new RecordingLogger()
      const owned = await reopen(log)
      expect([owned.list(), log.lines]).toEqual([[], []])
      await owned.add(['second'])
      expect((await reopen()).list()).toEqual(['second'])
    }
  })

  test.each([
    ['another object', (text: string) => text.replace('first', 'wrong'), 'line 2 is damaged'],
    ['a line more', (text: string) => `${text}nonsense\n`, 'line 4 is damaged'],
    ['another beginning', () => 'PNG', 'it does not begin as such a record does'],
  ])('with %s counts as empty, and says so', async (_, damage, problem) => {
    const owned = await reopen()
    await owned.add(['first', 'second'])
    await writeFile(file(), damage(await readFile(file(), 'utf8')))
    const log = new RecordingLogger()
    const next = await reopen(log)
    expect(next.list()).toEqual([])
    expect(log.lines).toMatchObject([{ level: 'warn', fields: { file: file(), problem } }])
    await next.add(['third'])
    expect((await reopen()).list()).toEqual(['third'])
  })

  test('that cannot be read or written stops nobody, and says so once', async () => {
    await mkdir(file(), { recursive: true })
    const log = new RecordingLogger()
    const owned = await reopen(log)
    await owned.add(['first'])
    await owned.add(['second'])
    expect(owned.list()).toEqual(['first', 'second'])
    expect(log.lines.map(({ message }) => message)).toEqual([
      'the record of what is ours cannot be used, so what an earlier run made and nobody needs stays',
      'what is ours could not be written down, so a restart would not know it',
    ])
    await rm(file(), { recursive: true })
    await owned.add(['third'])
    expect((await reopen()).list()).toEqual(['first', 'second', 'third'])
  })

  test('that could not be written is written anew, whatever is in it', async () => {
    const owned = await reopen()
    await owned.add(['first'])
    const before = await readFile(file())
    await rm(file())
    await mkdir(file())
    await owned.add(['second'])
    await rm(file(), { recursive: true })
    await writeFile(file(), before)
    await owned.add(['third'])
    expect((await reopen()).list()).toEqual(['first', 'second', 'third'])
  })

  test('that somebody deletes comes back whole', async () => {
    const owned = await reopen()
    await owned.add(['first'])
    await rm(file())
    await owned.add(['second'])
    expect((await reopen()).list()).toEqual(['first', 'second'])
  })

  test('takes no object of two lines', async () => {
    const owned = await reopen()
    await expect(async () => owned.add(['a\nb'])).rejects.toThrow('an object is one line')
    expect((await reopen()).list()).toEqual([])
  })
})
