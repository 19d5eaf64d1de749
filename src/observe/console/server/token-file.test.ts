import { join } from 'node:path'
import { rm } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { RecordingLogger } from '../../../core/testing/recording-logger.ts'
import { TemporaryFolder } from '../../../sources/kube/testing/temporary-folder.ts'
import { TokenFile } from './token-file.ts'

const [first, second] = ['1'.repeat(32), '2'.repeat(16)]

test('a token that is replaced is used within a second, and the file is not read more often', async () => {
  await using folder = await TemporaryFolder.make()
  const path = await folder.write('token', `${first}\n`)
  const clock = new FakeClock()
  const token = TokenFile.open(path, clock, new RecordingLogger())
  expect(token.current()).toBe(first)
  await folder.write('token', second)
  await clock.advance(999)
  expect(token.current()).toBe(first)
  await clock.advance(1)
  expect(token.current()).toBe(second)
})

test('while there is no token nobody gets in, and that is told once', async () => {
  await using folder = await TemporaryFolder.make()
  const path = await folder.write('token', first)
  const clock = new FakeClock()
  const log = new RecordingLogger()
  const token = TokenFile.open(path, clock, log)
  const later = async () => {
    await clock.advance(1000)
    return token.current()
  }
  await rm(path)
  expect([await later(), await later()]).toEqual([undefined, undefined])
  await folder.write('token', 'short')
  expect([await later(), await later()]).toEqual([undefined, undefined])
  await folder.write('token', second)
  expect(await later()).toBe(second)
  expect(log.at('warn').map(({ fields }) => fields?.['problem'])).toEqual([
    expect.stringMatching(/cannot be read: ENOENT.*; "openssl rand -hex 32" makes a token/),
    expect.stringContaining('has a token of 5 characters, not 16 at least'),
  ])
  expect(JSON.stringify(log.lines)).not.toContain('short"')
})

test.each([
  ['nothing', '\n', 'has a token of 0 characters'],
  ['two words', `${first} ${second}`, 'has more than one word in it'],
  ['too few characters', 'x'.repeat(15), 'has a token of 15 characters, not 16 at least; "openssl rand -hex 32" makes'],
])('a file with %s is refused at the start', async (_, content, message) => {
  await using folder = await TemporaryFolder.make()
  const path = await folder.write('token', content)
  expect(() => TokenFile.open(path, new FakeClock(), new RecordingLogger())).toThrow(
    `--console-token-file=${path} ${message}`,
  )
})

test('a file that is missing is refused at the start', async () => {
  await using folder = await TemporaryFolder.make()
  const path = join(folder.path, 'missing')
  expect(() => TokenFile.open(path, new FakeClock(), new RecordingLogger())).toThrow('cannot be read: ENOENT')
})
