import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { createLogger } from './create-logger.ts'
import type { LogOptions } from './create-logger.ts'

const defaults: LogOptions = {
  format: 'text',
  verbosity: 0,
  vmodule: [],
  splitStream: false,
  infoBufferBytes: 0,
  flushIntervalMs: 5000,
}

test('everything goes to stderr, at once, with its severity and the file that said it', () => {
  const { log, stdout, stderr } = given({})
  log.info('hello', { n: 1 })
  log.warn('careful')
  log.child({ part: 'kube' }).error('broken', { error: new Error('boom') })
  expect(stdout.text).toBe('')
  expect(stderr.lines.map(withoutHeader)).toEqual([
    'I create-logger.test.ts "hello" n=1',
    'W create-logger.test.ts "careful"',
    'E create-logger.test.ts "broken" err="boom" part="kube"',
  ])
})

test('a debug line shows at its verbosity, which can change while running, for children too', () => {
  const { log, stderr } = given({ verbosity: 2 })
  const child = log.child({ part: 'sync' })
  child.debug(2, 'two')
  child.debug(3, 'three')
  log.setVerbosity(3)
  expect(log.verbosity).toBe(3)
  expect([3, 4].map((level) => child.wouldShow?.(level))).toEqual([true, false])
  child.debug(3, 'three again')
  expect(stderr.lines.map(withoutHeader)).toEqual([
    'I create-logger.test.ts "two" part="sync"',
    'I create-logger.test.ts "three again" part="sync"',
  ])
})

test('format and verbosity can change while running, for children too', () => {
  const { log, stderr } = given({})
  const child = log.child({ part: 'sync' })
  log.configure({ ...defaults, format: 'json', verbosity: 2 })
  child.debug(2, 'two')
  expect(stderr.lines.map((line) => JSON.parse(line) as object)).toMatchObject([{ msg: 'two', part: 'sync', v: 2 }])
})

test('a verbosity that somebody has set stays when another option changes', () => {
  const { log } = given({ verbosity: 1 })
  log.setVerbosity(5)
  log.configure({ ...defaults, verbosity: 1, format: 'json' })
  expect(log.verbosity).toBe(5)
  log.configure({ ...defaults, verbosity: 2, format: 'json' })
  expect(log.verbosity).toBe(2)
})

test('lines that wait are written when the streams change', () => {
  const { log, stdout } = given({ splitStream: true, infoBufferBytes: 10_000 })
  log.info('waiting')
  expect(stdout.text).toBe('')
  log.configure(defaults)
  expect(stdout.text).toContain('waiting')
})

for (const [filePattern, isShown] of [
  ['create-logger.test', true],
  ['create-*', true],
  ['create-logge?[.]test', true],
  ['*', true],
  ['create-logger', false],
  ['CREATE*', false],
  ['[z-a]', false],
] as const) {
  test(`--vmodule=${filePattern}=4 ${isShown ? 'shows' : 'does not show'} the debug lines of this file`, () => {
    const { log, stderr } = given({ vmodule: [{ filePattern, verbosity: 4 }] })
    log.debug(4, 'four')
    log.debug(5, 'five')
    expect(stderr.lines.map(withoutHeader)).toEqual(isShown ? ['I create-logger.test.ts "four"'] : [])
  })
}

test('the first --vmodule rule that names a file decides', () => {
  const vmodule = [
    { filePattern: 'create-*', verbosity: 1 },
    { filePattern: '*', verbosity: 9 },
  ]
  const { log, stderr } = given({ vmodule })
  log.debug(2, 'two')
  expect(stderr.text).toBe('')
})

test('a line in json names the folder and file of its caller', () => {
  const { log, stderr } = given({ format: 'json' })
  log.info('hello')
  expect(JSON.parse(stderr.text)).toEqual({
    ts: Date.UTC(2026, 10, 15, 9),
    caller: expect.stringMatching(/^logging\/create-logger\.test\.ts:\d+$/) as string,
    msg: 'hello',
    v: 0,
  })
})

test('split streams send errors to stderr and the rest to stdout', () => {
  const { log, stdout, stderr } = given({ splitStream: true })
  log.info('fine')
  log.warn('careful')
  log.error('broken')
  expect(stdout.lines.map(withoutHeader)).toEqual([
    'I create-logger.test.ts "fine"',
    'W create-logger.test.ts "careful"',
  ])
  expect(stderr.lines.map(withoutHeader)).toEqual(['E create-logger.test.ts "broken"'])
})

const buffered = { splitStream: true, infoBufferBytes: 1000 }

test('a buffered line comes out after the flush interval', async () => {
  const { log, stdout, clock } = given(buffered)
  log.info('one')
  await clock.advance(4000)
  log.info('two')
  expect(stdout.text).toBe('')
  await clock.advance(999)
  expect(stdout.text).toBe('')
  await clock.advance(1)
  expect(stdout.lines).toHaveLength(2)
})

test('a full buffer, an error, or flush() bring buffered lines out at once and leave no timer behind', () => {
  for (const provoke of [
    (log: ReturnType<typeof createLogger>) => log.info('x'.repeat(1000)),
    (log: ReturnType<typeof createLogger>) => log.error('broken'),
    (log: ReturnType<typeof createLogger>) => log.flush(),
  ]) {
    const { log, stdout, clock } = given(buffered)
    log.info('one')
    expect(stdout.text).toBe('')
    provoke(log)
    expect(stdout.text).toContain('"one"')
    expect(clock.sleeping).toBe(0)
  }
})

test('a stream that fails, or throws, loses lines and nothing else', async () => {
  const broken = new Writable({ write: (_chunk, _encoding, done) => done(new Error('EPIPE')) })
  const throwing = new PassThrough()
  throwing.write = () => {
    throw new Error('EAGAIN')
  }
  for (const stream of [broken, throwing]) {
    const log = createLogger(defaults, { stdout: stream, stderr: stream }, { clock: new FakeClock(), pid: 1 })
    for (const message of ['one', 'two']) {
      expect(() => log.info(message)).not.toThrow()
      await new Promise((resolve) => setImmediate(resolve)) // an unhandled error event would fail the run here
    }
  }
})

test('a real process goes on when the reader of its stderr is gone', async () => {
  const script = `
    import { createLogger } from ${JSON.stringify(new URL('create-logger.ts', import.meta.url).href)}
    import { systemClock } from ${JSON.stringify(new URL('../../core/clock.ts', import.meta.url).href)}
    const log = createLogger(${JSON.stringify(defaults)}, process, { clock: systemClock, pid: process.pid })
    process.stdin.once('data', () => {
      for (let i = 0; i < 1000; i++) log.info('x'.repeat(1000))
      setTimeout(() => { log.info('more'); process.stdout.write('still here'); process.stdin.destroy() }, 50)
    })`
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script])
  const closed = once(child, 'close')
  // From now on, whoever writes to this pipe finds it broken.
  child.stderr.destroy()
  child.stdin.write('begin')
  expect(await text(child.stdout)).toBe('still here')
  expect(await closed).toEqual([0, null])
})

test('lines of one millisecond keep their order, and follow a wall clock that is set', async () => {
  const { log, stderr, clock } = given({})
  log.info('first')
  await clock.advance(0.25)
  log.info('second')
  clock.jumpWallClock(60_000)
  log.info('third')
  const seconds = stderr.lines.map((line) => /:(\d\d:\d\d\.\d{6}) /.exec(line)?.[1])
  expect(seconds).toEqual(['00:00.000000', '00:00.000250', '01:00.000250'])
})

function given(options: Partial<LogOptions>) {
  const clock = new FakeClock(Date.UTC(2026, 10, 15, 9))
  const stdout = new Recorder()
  const stderr = new Recorder()
  const log = createLogger({ ...defaults, ...options }, { stdout, stderr }, { clock, pid: 1234 })
  return { log, stdout, stderr, clock }
}

class Recorder extends Writable {
  text = ''

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString()
    done()
  }

  get lines(): string[] {
    return this.text.split('\n').slice(0, -1)
  }
}

/** `I1115 09:00:00.000000    1234 file.ts:12] rest` → `I file.ts rest` */
function withoutHeader(line: string): string {
  return line.replace(/^([IWE])\d{4} \d\d:\d\d:\d\d\.\d{6}    1234 ([\w.-]+):\d+\] /, '$1 $2 ')
}
