import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openLogFile } from './log-file.ts'

let folder = ''
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'fairlead-log-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const path = () => join(folder, 'logs', 'fairlead.log')
const text = (name = '') => readFileSync(`${path()}${name}`, 'utf8')

test('a log file makes its folder, is written line by line, and goes on where the last process ended', () => {
  const first = openLogFile({ path: path(), maxBytes: 1000 })
  first.write('one\n')
  expect(text()).toBe('one\n')
  first.destroy()
  const second = openLogFile({ path: path(), maxBytes: 1000 })
  second.write('two\n')
  expect(text()).toBe('one\ntwo\n')
  second.destroy()
})

test('a full file is put aside, and the oldest one goes', () => {
  const log = openLogFile({ path: path(), maxBytes: 10 })
  for (const line of ['line 1', 'line 2', 'line 3', 'line 4', 'line 5', 'line 6']) log.write(`${line}\n`)
  expect(readdirSync(join(folder, 'logs')).sort()).toEqual([
    'fairlead.log',
    'fairlead.log.1',
    'fairlead.log.2',
    'fairlead.log.3',
  ])
  expect([text(), text('.1'), text('.2'), text('.3')]).toEqual(['line 6\n', 'line 5\n', 'line 4\n', 'line 3\n'])
  log.destroy()
})

test('a line longer than a whole file is written all the same', () => {
  const log = openLogFile({ path: path(), maxBytes: 10 })
  log.write('a line that is longer than that\n')
  log.write('next\n')
  expect([text('.1'), text()]).toEqual(['a line that is longer than that\n', 'next\n'])
  log.destroy()
})

test('what was there before counts for the size', () => {
  mkdirSync(join(folder, 'logs'))
  writeFileSync(path(), 'earlier\n')
  const log = openLogFile({ path: path(), maxBytes: 10 })
  log.write('now\n')
  expect([text('.1'), text()]).toEqual(['earlier\n', 'now\n'])
  log.destroy()
})

test('a file that cannot be put aside goes on growing, and nothing is lost', () => {
  const log = openLogFile({ path: path(), maxBytes: 10 })
  // A folder with something in it cannot be removed as if it were a file, as with a file that Windows keeps open.
  mkdirSync(`${path()}.3/kept`, { recursive: true })
  for (const line of ['line 1', 'line 2', 'line 3', 'line 4']) log.write(`${line}\n`)
  expect(text()).toBe('line 1\nline 2\nline 3\nline 4\n')
  log.destroy()
})

// Windows removes no folder with a file that is open.
test.skipIf(process.platform === 'win32')(
  'lines that could not be written are counted when it works again (not on Windows)',
  () => {
    const log = openLogFile({ path: path(), maxBytes: 8 })
    log.write('line 1\n')
    rmSync(join(folder, 'logs'), { recursive: true })
    log.write('line 2\n') // the rotation and the new file fail
    log.write('line 3\n')
    mkdirSync(join(folder, 'logs'))
    log.write('line 4\n')
    expect(text()).toBe('(2 lines before this one could not be written)\nline 4\n')
    log.destroy()
  },
)

test('a file that cannot be opened at all is an error at once', () => {
  writeFileSync(join(folder, 'logs'), 'a file, not a folder')
  expect(() => openLogFile({ path: path(), maxBytes: 10 })).toThrow(/EEXIST|ENOTDIR/)
})
