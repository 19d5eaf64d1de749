import { appendFile, chmod, copyFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { scanFrames } from './frame.ts'
import { openJournal } from './recovery.ts'
import { Journal } from './journal.ts'
import type { JournalFile, JournalParts } from './journal.ts'
import { memoryStore, putThing, removeThing, thingsIn } from '../testing/stored-objects.ts'

let directory: string
let log: RecordingLogger

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fairlead-journal-'))
  log = new RecordingLogger()
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const journalFile = () => join(directory, 'journal.jsonl')

async function openStore(compactAboveBytes = 1_000_000) {
  const { journal, recovered } = await openJournal({ directory, log, compactAboveBytes })
  return { store: memoryStore({ journal, recovered, log }), journal }
}

/** Opens a store, uses it and closes it. */
async function withStore<T>(use: (opened: Awaited<ReturnType<typeof openStore>>) => Promise<T>, compactAbove?: number) {
  const opened = await openStore(compactAbove)
  await using _closing = opened.journal
  return await use(opened)
}

const contents = () =>
  withStore(async ({ store }) => ({ things: thingsIn(store.list('things')), revision: store.revision }))

test('a new directory is an empty store', async () => {
  expect(await contents()).toEqual({ things: [], revision: 1 })
})

describe.skipIf(process.platform === 'win32')('other users (skipped on Windows, which has no modes)', () => {
  const modeOf = async (...path: string[]) => ((await stat(join(directory, ...path))).mode & 0o777).toString(8)
  const files = ['journal.jsonl', 'snapshot.jsonl', 'lock']

  test('can read nothing in a directory that the server made', async () => {
    const before = process.umask(0)
    onTestFinished(() => void process.umask(before))
    directory = join(directory, 'new', 'data')
    await withStore(async ({ store }) => {
      await putThing(store, 'a', 'x'.repeat(500))
      await store.settled()
      expect(await Promise.all(files.map((file) => modeOf(file)))).toEqual(['600', '600', '600'])
    }, 100)
    expect([await modeOf(), await modeOf('..')]).toEqual(['700', '700'])
    expect(log.at('warn')).toEqual([])
  })

  test('lose what they could read, and a directory that is open to them is a warning', async () => {
    await withStore(async ({ store }) => {
      await putThing(store, 'a', 'x'.repeat(500))
      await store.settled()
    }, 100)
    for (const file of ['journal.jsonl', 'snapshot.jsonl']) await chmod(join(directory, file), 0o644)
    await chmod(directory, 0o755)
    await withStore(async () => {
      expect(await Promise.all(files.map((file) => modeOf(file)))).toEqual(['600', '600', '600'])
    })
    expect(await modeOf()).toBe('755')
    expect(log.at('warn')).toMatchObject([
      {
        message: 'the data directory is open to other users; close it with chmod 700',
        fields: { directory, mode: '755' },
      },
    ])
  })
})

test('what was written is there after a restart, under the same revisions', async () => {
  await withStore(async ({ store }) => {
    await putThing(store, 'a', 1)
    await putThing(store, 'b', 2)
    await putThing(store, 'a', 3)
    await removeThing(store, 'b')
  })
  await withStore(async ({ store }) => {
    expect(thingsIn(store.list('things'))).toEqual(['a=3'])
    expect(store.revision).toBe(5)
    expect(store.get('things', 'test/a')?.object.metadata.resourceVersion).toBe('4')
    expect((await putThing(store, 'c')).revision).toBe(6)
  })
})

test('a watch can go on over a restart, because the history is in the journal', async () => {
  await withStore(async ({ store }) => {
    await putThing(store, 'a')
    await putThing(store, 'b')
    await removeThing(store, 'a')
  })
  await withStore(async ({ store }) => {
    const { history } = store.collection('things')
    const position = history.seek(2) ?? -1
    expect(history.at(position)).toMatchObject({ type: 'ADDED', entry: { name: 'b' } })
    expect(history.at(position + 1)).toMatchObject({ type: 'DELETED', entry: { name: 'a', revision: 4 } })
  })
})

test('a record cut short by a crash is dropped, with a log line, and writing goes on', async () => {
  await withStore(async ({ store }) => void (await putThing(store, 'a')))
  const { size } = await stat(journalFile())
  await appendFile(journalFile(), '0a1b2c3d 000000ff [{"revision":3,"kind"')
  expect(await contents()).toEqual({ things: ['a=a'], revision: 2 })
  expect(log.lines).toContainEqual(
    expect.objectContaining({
      level: 'warn',
      message: expect.stringContaining('cut short') as string,
      fields: { file: journalFile(), offset: size, bytes: 39 },
    }),
  )
  expect((await stat(journalFile())).size).toBe(size)
  await withStore(async ({ store }) => void (await putThing(store, 'b')))
  expect(await contents()).toEqual({ things: ['a=a', 'b=b'], revision: 3 })
})

test('damage in the middle is refused with the file and the place, and the file is left alone', async () => {
  await withStore(async ({ store }) => {
    await putThing(store, 'a')
    await putThing(store, 'b')
    await putThing(store, 'c')
  })
  const bytes = await readFile(journalFile())
  const secondFrame = bytes.indexOf('\n') + 1
  bytes[secondFrame + 40] = 0x21
  await writeFile(journalFile(), bytes)
  await expect(openStore()).rejects.toMatchObject({
    reason: 'corrupt',
    message: expect.stringContaining(`${journalFile()} is damaged at byte ${secondFrame}`) as string,
  })
  expect(await readFile(journalFile())).toEqual(bytes)
})

test('a journal that misses a record is refused', async () => {
  await withStore(async ({ store }) => {
    await putThing(store, 'a')
    await putThing(store, 'b')
  })
  const lines = (await readFile(journalFile(), 'utf8')).split('\n')
  await writeFile(journalFile(), lines.slice(1).join('\n'))
  await expect(openStore()).rejects.toThrow(/revision 2 is missing before 3/)
})

test('a journal that has grown is folded into a snapshot', async () => {
  await withStore(async ({ store }) => {
    for (let index = 0; index < 50; index++) await putThing(store, `thing-${index % 5}`, index)
    await store.settled()
  }, 1000)
  expect((await stat(journalFile())).size).toBeLessThan(2500)
  expect(await contents()).toEqual({
    things: ['thing-0=45', 'thing-1=46', 'thing-2=47', 'thing-3=48', 'thing-4=49'],
    revision: 51,
  })
})

test('a crash between the snapshot and the emptying of the journal changes nothing', async () => {
  await withStore(async ({ store, journal }) => {
    await putThing(store, 'a')
    await putThing(store, 'b')
    await removeThing(store, 'a')
    await copyFile(journalFile(), `${journalFile()}.kept`)
    await journal.compact(store.revision, [{ kind: 'things', entry: store.list('things')[0] ?? never() }])
  })
  await copyFile(`${journalFile()}.kept`, journalFile())
  expect(await contents()).toEqual({ things: ['b=b'], revision: 4 })
})

test('a damaged snapshot is refused', async () => {
  await withStore(async ({ store }) => {
    await putThing(store, 'a', 'x'.repeat(200))
    await putThing(store, 'b', 'x'.repeat(200))
    await store.settled()
  }, 100)
  const snapshot = join(directory, 'snapshot.jsonl')
  const bytes = await readFile(snapshot)
  await writeFile(snapshot, bytes.subarray(0, bytes.length - 10))
  await expect(openStore()).rejects.toMatchObject({ reason: 'corrupt' })
})

test('two servers cannot share a directory, and the second is told who has it', async () => {
  await withStore(async () => {
    await expect(openStore()).rejects.toMatchObject({
      reason: 'in-use',
      message: expect.stringContaining(`process ${process.pid}`) as string,
    })
  })
  expect(await contents()).toMatchObject({ things: [] })
})

test('the lock of a process that is gone, or that never finished it, is taken over', async () => {
  for (const left of [
    JSON.stringify({ pid: 2 ** 22 + 1 }),
    JSON.stringify({ pid: process.pid, started: '1' }),
    '{"pi',
  ]) {
    await writeFile(join(directory, 'lock'), left)
    expect(await contents()).toMatchObject({ things: [] })
  }
})

test('a full disk refuses the write, leaves the state as it was, and later writes succeed', async () => {
  const disk = new FailingFile()
  const store = memoryStore({ journal: journalOn(disk) })
  await putThing(store, 'a')
  disk.fail('write', 'ENOSPC')
  await expect(putThing(store, 'b')).rejects.toMatchObject({ reason: 'disk-full' })
  expect(thingsIn(store.list('things'))).toEqual(['a=a'])
  expect(store.revision).toBe(2)
  disk.recover()
  expect((await putThing(store, 'b')).revision).toBe(3)
  expect(disk.frames()).toHaveLength(2)
})

test('after a failed sync nothing more is promised', async () => {
  const disk = new FailingFile()
  const store = memoryStore({ journal: journalOn(disk) })
  disk.fail('datasync', 'EIO')
  await expect(putThing(store, 'a')).rejects.toMatchObject({ reason: 'unusable' })
  disk.recover()
  await expect(putThing(store, 'a')).rejects.toMatchObject({ reason: 'unusable' })
  expect(store.list('things')).toEqual([])
})

test('when half a record cannot be taken back, nothing more is promised', async () => {
  const disk = new FailingFile()
  const store = memoryStore({ journal: journalOn(disk) })
  disk.fail('write', 'EIO')
  disk.fail('truncate', 'EIO')
  await expect(putThing(store, 'a')).rejects.toMatchObject({ reason: 'write-failed' })
  disk.recover()
  await expect(putThing(store, 'a')).rejects.toMatchObject({ reason: 'unusable' })
})

test('a snapshot that cannot be written leaves the journal as it is', async () => {
  const disk = new FailingFile()
  const refuse = () => Promise.reject(new Error('no space for a snapshot'))
  const store = memoryStore({ log, journal: journalOn(disk, { compactAboveBytes: 1, writeSnapshot: refuse }) })
  await putThing(store, 'a')
  await store.settled()
  expect(log.at('warn').map(({ message }) => message)).toEqual(['the journal could not be compacted and keeps growing'])
  expect(disk.frames()).toHaveLength(1)
  await putThing(store, 'b')
  expect(disk.frames()).toHaveLength(2)
})

function journalOn(file: JournalFile, parts: Partial<JournalParts> = {}): Journal {
  return new Journal({
    file,
    bytes: 0,
    lock: { [Symbol.asyncDispose]: async () => {} },
    snapshotBytes: 0,
    compactAboveBytes: 1_000_000,
    writeSnapshot: async () => 0,
    ...parts,
  })
}

/** A file in memory whose operations fail on demand; a failing write writes half of its bytes first. */
class FailingFile implements JournalFile {
  #content = Buffer.alloc(0)
  readonly #failures = new Map<string, string>()

  fail(operation: 'write' | 'datasync' | 'truncate', code: string): void {
    this.#failures.set(operation, code)
  }

  recover(): void {
    this.#failures.clear()
  }

  /** The lines, all of which must be complete. */
  frames(): readonly string[] {
    const { payloads, broken } = scanFrames(this.#content)
    if (broken !== undefined) throw new Error(`half a record was left behind: ${broken.why}`)
    return payloads
  }

  async write(bytes: Buffer, offset: number, length: number, position: number) {
    const written = this.#failures.has('write') ? length >> 1 : length
    this.#content = Buffer.concat([this.#content.subarray(0, position), bytes.subarray(offset, offset + written)])
    this.#failIf('write')
    return { bytesWritten: written }
  }

  async datasync() {
    this.#failIf('datasync')
  }

  async truncate(length: number) {
    this.#failIf('truncate')
    this.#content = this.#content.subarray(0, length)
  }

  async close() {}

  #failIf(operation: string): void {
    const code = this.#failures.get(operation)
    if (code !== undefined) throw Object.assign(new Error(`${code}: ${operation} failed`), { code })
  }
}

function never(): never {
  throw new Error('not there')
}
