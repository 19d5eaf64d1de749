import type { EventEmitter } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../../sources/kube/testing/temporary-folder.ts'
import { memoryHost } from '../host/testing/memory-host.ts'
import { logToFile } from './log-to-file.ts'

const maxBytes = 10_000

test('the log goes to the file, and all the rest stays on the console', async () => {
  await using folder = await TemporaryFolder.make()
  const path = join(folder.path, 'fairlead.log')
  const host = memoryHost()
  const logging = logToFile(host, { path, maxBytes }, { hasConsole: true })
  logging.process.logStreams.stderr.write('a line of the log\n')
  logging.process.streams.stderr.write('a sentence for the user\n')
  expect(await readFile(path, 'utf8')).toBe('a line of the log\n')
  expect(host.logged()).toBe('a sentence for the user\n')
})

test('without a console everything goes to the file', async () => {
  await using folder = await TemporaryFolder.make()
  const path = join(folder.path, 'fairlead.log')
  const { streams } = logToFile(memoryHost(), { path, maxBytes }, { hasConsole: false }).process
  streams.stdout.write('a result\n')
  streams.stderr.write('a sentence\n')
  expect(await readFile(path, 'utf8')).toBe('a result\na sentence\n')
})

test('a crash leaves its stack in the file', async () => {
  await using folder = await TemporaryFolder.make()
  const path = join(folder.path, 'fairlead.log')
  logToFile(memoryHost(), { path, maxBytes }, { hasConsole: false })
  const events: EventEmitter = process
  events.emit('uncaughtExceptionMonitor', new Error('a bug'), 'uncaughtException')
  expect(await readFile(path, 'utf8')).toMatch(/^Error: a bug\n +at /)
})
