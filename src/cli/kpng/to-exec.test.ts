/** Backend programs that fail in the ways programs do: real processes, with pauses that pass a hundred times faster. */
import { existsSync, readFileSync } from 'node:fs'
import { chmod, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import type { Clock } from '../../core/clock.ts'
import type { ChangeSet } from '../../kpng/client/change-set.ts'
import { Service, Set as Sets } from '../../kpng/proto/generated/localv1/api.ts'
import { sampleService } from '../../kpng/testing/cluster-samples.ts'
import { RecordingLogger } from '../../sources/kube/testing/recording-logger.ts'
import { TemporaryFolder } from '../../sources/kube/testing/temporary-folder.ts'
import { ExecBackend } from './to-exec.ts'

const aWhile = { timeout: 20_000, interval: 10 }
const fastClock: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / 100, signal) }

/** Writes down who it is and what it reads, and answers each batch; then does what the test says. */
const reader = (afterAnswer = '') => `#!/bin/sh
echo "start $$" >> $0.log
while IFS= read -r line; do
  printf '%s\\n' "$line" >> $0.log
  case $line in '{"t":"bye"'*) exit 0 ;; '{"t":"commit"'*) ;; *) continue ;; esac
  printf '{"t":"ack","to":"%s"}\\n' "$(printf '%s' "$line" | sed 's/.*"to":"\\([0-9]*\\)".*/\\1/')"
  ${afterAnswer}
done
`

/** Reads a large state in no time. */
const quickReader = `#!/bin/sh
tee $0.log | sed -u -n 's/^{"t":"commit","to":"\\(.*\\)"}$/{"t":"ack","to":"\\1"}/p'
`

function changes(paths: readonly string[], isReset = true): ChangeSet {
  const sets = paths.map((path) => ({
    Ref: { Set: Sets.ServicesSet, Path: path },
    Bytes: Service.encode(sampleService(path).service).finish(),
  }))
  return { isReset, sets, deletes: [] }
}

class Rig implements AsyncDisposable {
  readonly log = new RecordingLogger()
  readonly backend: ExecBackend
  readonly path: string
  readonly #folder: TemporaryFolder
  readonly #stop = new AbortController()
  readonly #running: Promise<void>

  private constructor(folder: TemporaryFolder, answerWithinMs: number) {
    this.#folder = folder
    this.path = join(folder.path, 'backend')
    const { log, path } = this
    const { env } = process
    this.backend = new ExecBackend({ command: [path], node: 'node-a', answerWithinMs, env, clock: fastClock, log })
    this.#running = this.backend.run(this.#stop.signal)
  }

  static async start(script: string | undefined, answerWithinMs = 1_000_000): Promise<Rig> {
    const folder = await TemporaryFolder.make()
    const rig = new Rig(folder, answerWithinMs)
    if (script !== undefined) await rig.install(script)
    return rig
  }

  async install(script: string): Promise<void> {
    await writeFile(`${this.path}.new`, script)
    await chmod(`${this.path}.new`, 0o755)
    await rename(`${this.path}.new`, this.path)
  }

  apply(set: ChangeSet): Promise<void> {
    return this.backend.apply(set, this.#stop.signal)
  }

  /** Lines that the program has written down. */
  heard(what = /./): readonly string[] {
    const file = `${this.path}.log`
    return existsSync(file)
      ? readFileSync(file, 'utf8')
          .split('\n')
          .filter((line) => what.test(line))
      : []
  }

  get pid(): number {
    return Number(
      this.heard(/^start/)
        .at(-1)
        ?.slice('start '.length),
    )
  }

  /** What was said about its failures: [problem, pause until the next try]. */
  get failures(): readonly (readonly [unknown, unknown])[] {
    return this.log.lines.map(({ fields }) => [fields['problem'], fields['nextTryMs']])
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    await this.#folder[Symbol.asyncDispose]()
  }
}

test('a program that is killed after its answer is started again with the whole state, though nothing changes', async () => {
  await using rig = await Rig.start(reader())
  await rig.apply(changes(['default/a']))
  await rig.apply(changes(['default/b'], false))
  expect(rig.backend.problem).toBeUndefined()
  process.kill(rig.pid, 'SIGKILL')
  await expect.poll(() => rig.failures, aWhile).toEqual([['SIGKILL ended it', 500]])
  await expect.poll(() => rig.heard(/^start/).length, aWhile).toBe(2)
  await expect.poll(() => rig.backend.problem, aWhile).toBeUndefined()
  const second = rig.heard().slice(rig.heard().findLastIndex((line) => line.startsWith('start')))
  expect(second.filter((line) => line.includes('"op":"put"'))).toHaveLength(2)
  await rig.apply(changes(['default/c'], false))
  expect(rig.heard(/"from":"2"/)).toHaveLength(1)
})

test('a program that is down is a problem until it has the state again', async () => {
  await using rig = await Rig.start(reader())
  expect(rig.backend.problem).toContain('not been given a state')
  await rig.apply(changes([]))
  // What is there when it is started next cannot be started.
  await rig.install('#!/nowhere\n')
  process.kill(rig.pid, 'SIGKILL')
  await expect.poll(() => rig.backend.problem, aWhile).toContain('there is no program')
  await rig.install(reader())
  await expect.poll(() => rig.backend.problem, aWhile).toBeUndefined()
})

test('a program that ends at once is tried again after pauses that grow up to a limit', async () => {
  await using rig = await Rig.start('#!/bin/sh\nexit 3\n')
  const applied = rig.apply(changes(['default/a']))
  await expect.poll(() => rig.failures.length, aWhile).toBeGreaterThan(8)
  expect(rig.failures.slice(0, 9)).toEqual(
    [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000].map((ms) => ['it ended with exit code 3', ms]),
  )
  expect(rig.backend.problem).toBe('it ended with exit code 3')
  await rig.install(reader())
  await applied
  expect(rig.backend.problem).toBeUndefined()
})

test('one that answers and then ends does not get around the pauses', async () => {
  await using rig = await Rig.start(reader('exit 7'))
  await rig.apply(changes(['default/a']))
  await expect.poll(() => rig.failures.length, aWhile).toBeGreaterThan(2)
  expect(rig.failures.slice(0, 3)).toEqual([500, 1000, 2000].map((ms) => ['it ended with exit code 7', ms]))
})

test('a program that is not there is named, and used as soon as it is', async () => {
  await using rig = await Rig.start(undefined)
  const applied = rig.apply(changes(['default/a']))
  await expect.poll(() => rig.failures.length, aWhile).toBeGreaterThan(1)
  expect(rig.failures[0]).toEqual([`there is no program "${rig.path}"`, 500])
  expect(rig.log.lines[0]?.fields['program']).toBe(rig.path)
  await writeFile(rig.path, reader())
  await expect.poll(() => rig.failures.at(-1)?.[0], aWhile).toContain('may not be executed')
  await chmod(rig.path, 0o755)
  await applied
})

test.each([
  ['does not read', 'exec sleep 1000'],
  ['reads and does not answer', 'exec cat > /dev/null'],
])('a program that %s is not waited for without end', async (_what, script) => {
  await using rig = await Rig.start(`#!/bin/sh\n${script}\n`, 100_000)
  // More than a pipe holds.
  const many = Array.from({ length: 2_000 }, (_, index) => `default/service-${index}`)
  const applied = rig.apply(changes(many))
  await expect.poll(() => rig.failures[0]?.[0], aWhile).toBe('it did not answer in time')
  await rig.install(quickReader)
  await applied
  expect(rig.heard(/"op":"put"/)).toHaveLength(2_000)
})

test('a program that closes its input is replaced, too', async () => {
  await using rig = await Rig.start(reader('exec 0<&-; echo closed >> $0.log; exec sleep 1000'))
  await rig.apply(changes(['default/a']))
  await expect.poll(() => rig.heard(/^closed/), aWhile).toHaveLength(1)
  const applied = rig.apply(changes(['default/b'], false))
  await expect.poll(() => rig.failures[0]?.[0], aWhile).toBe('it does not read any more')
  await rig.install(reader())
  await applied
})

test('one that refuses a batch gets everything again', async () => {
  const refusing = reader().replace('"t":"ack"', '"t":"nack","reason":"busy"')
  await using rig = await Rig.start(refusing)
  const applied = rig.apply(changes(['default/a']))
  await expect.poll(() => rig.failures[0]?.[0], aWhile).toBe('it refused the batch: busy')
  await rig.install(reader())
  await applied
})

test('a program is told when it is to end, and is not started again', async () => {
  await using rig = await Rig.start(reader())
  await rig.apply(changes(['default/a']))
  await rig.stop()
  expect(rig.heard().at(-1)).toBe('{"t":"bye","cleanup":false}')
  expect(rig.failures).toEqual([])
  expect(() => process.kill(rig.pid, 0)).toThrow('ESRCH')
})

test('without a program there is nothing to try', () => {
  const options = { node: 'node-a', answerWithinMs: 1, env: {}, clock: systemClock, log: new RecordingLogger() }
  expect(() => new ExecBackend({ ...options, command: [] })).toThrow('to-exec needs a program')
})
