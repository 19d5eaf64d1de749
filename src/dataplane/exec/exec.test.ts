import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { withLockedFolder } from '../../host/testing/locked-folder.ts'
import { processExec } from './exec.ts'

const never = new AbortController().signal

test('a program gets its arguments and its input, and its output comes back apart', async () => {
  const script = 'cat; echo "$1 said" >&2'
  const result = await processExec('sh', ['-c', script, 'sh', 'it is $HOME'], { signal: never, stdin: 'hällo\n' })
  expect(result).toEqual({ exitCode: 0, signal: null, stdout: 'hällo\n', stderr: 'it is $HOME said\n' })
})

test('whoever starts a program may know its process id', async () => {
  const started: number[] = []
  const onStart = (processId: number) => void started.push(processId)
  const { stdout } = await processExec('sh', ['-c', 'echo $$'], { signal: never, onStart })
  expect(started).toEqual([Number(stdout)])
})

test('a failing program is a result, not an exception', async () => {
  const result = await processExec('sh', ['-c', 'echo no >&2; exit 4'], { signal: never })
  expect(result).toEqual({ exitCode: 4, signal: null, stdout: '', stderr: 'no\n' })
})

test('a program that a signal ended says which', async () => {
  const result = await processExec('sh', ['-c', 'kill -TERM $$'], { signal: never })
  expect(result).toMatchObject({ exitCode: null, signal: 'SIGTERM' })
})

test('a missing program is told apart', async () => {
  const run = processExec('fairlead-no-such-program', [], { signal: never })
  await expect(run).rejects.toMatchObject({ name: 'ExecError', reason: 'not-found' })
})

test('a missing program is told apart although PATH holds a folder that this user may not read', async () => {
  await withLockedFolder(async (folder) => {
    const env = { PATH: `${folder}:/usr/bin` }
    await expect(processExec('fairlead-no-such-program', [], { signal: never, env })).rejects.toMatchObject({
      reason: 'not-found',
      message:
        `there is no program "fairlead-no-such-program" (this user may not look into ${folder}): ` +
        'install it, or add its folder to PATH',
      cause: { code: 'EACCES' },
    })
  })
})

test('a program that may not be run is told apart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-exec-'))
  const file = join(folder, 'locked')
  await writeFile(file, '#!/bin/sh\n')
  await chmod(file, 0o600)
  try {
    await expect(processExec(file, [], { signal: never })).rejects.toMatchObject({ reason: 'not-permitted' })
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('tools in sbin are found although PATH does not name it', async () => {
  const result = await processExec('sh', ['-c', 'echo "$PATH"'], { signal: never })
  expect(result.stdout.trim().split(':')).toEqual(expect.arrayContaining(['/usr/sbin', '/sbin']))
})

test('variables are added to the environment', async () => {
  const script = 'echo "$FAIRLEAD_TEST/$HOME"'
  const result = await processExec('sh', ['-c', script], { signal: never, env: { FAIRLEAD_TEST: 'x' } })
  expect(result.stdout).toBe(`x/${process.env['HOME'] ?? ''}\n`)
})

test('an abort ends the program and rejects with its reason, once the program is gone', async () => {
  const controller = new AbortController()
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-exec-'))
  const pidFile = join(folder, 'pid')
  try {
    const script = `echo $$ > "${pidFile}.new"; mv "${pidFile}.new" "${pidFile}"; exec sleep 600`
    const sleeper = processExec('sh', ['-c', script], { signal: controller.signal })
    const pid = await vi.waitFor(async () => Number(await readFile(pidFile, 'utf8')), { timeout: 10_000 })
    controller.abort(new Error('enough'))
    await expect(sleeper).rejects.toThrow('enough')
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('nothing is started when the signal has aborted before', async () => {
  const run = processExec('fairlead-no-such-program', [], { signal: AbortSignal.abort(new Error('too late')) })
  await expect(run).rejects.toThrow('too late')
})

test('a program that runs too long is ended', async () => {
  const run = processExec('sleep', ['600'], { signal: never, timeoutMs: 50 })
  await expect(run).rejects.toMatchObject({ reason: 'timeout', message: expect.stringContaining('sleep 600') })
})

test('an ended program is not waited for through the children that it left behind', async () => {
  const run = processExec('sh', ['-c', 'sleep 5 & sleep 600'], { signal: never, timeoutMs: 100 })
  const started = performance.now()
  await expect(run).rejects.toMatchObject({ reason: 'timeout' })
  expect(performance.now() - started).toBeLessThan(4000)
})

test('a program that prints without end is ended', async () => {
  const run = processExec('yes', [], { signal: never, maxStdoutBytes: 10_000 })
  await expect(run).rejects.toMatchObject({ reason: 'too-much-output' })
})

test('only the first 64 KiB of errors are kept', async () => {
  const result = await processExec('sh', ['-c', 'yes | head -c 1000000 >&2'], { signal: never })
  expect(result.exitCode).toBe(0)
  expect(result.stderr).toHaveLength(64 << 10)
})

test('a program that ends without reading its input is no error', async () => {
  const result = await processExec('true', [], { signal: never, stdin: 'x'.repeat(20_000_000) })
  expect(result.exitCode).toBe(0)
})

test('50 MB of input reach the program while the event loop goes on', async () => {
  const line = '-A KUBE-SERVICES -m comment --comment "ns/svc:port" -d 10.0.0.1 -j KUBE-SVC-ABCDEFGHIJKLMNOP\n'
  const stdin = line.repeat(Math.ceil(50_000_000 / line.length))
  let turns = 0
  let isOver = false
  const countTurns = () => {
    turns++
    if (!isOver) setImmediate(countTurns)
  }
  countTurns()
  const result = await processExec('wc', ['-c'], { signal: never, stdin })
  isOver = true
  expect(Number(result.stdout)).toBe(stdin.length)
  // If a write blocked, the event loop would turn only once before and once after it.
  expect(turns).toBeGreaterThan(3)
})

test('input in pieces arrives as one text, however short and long they are', async () => {
  const stdin = [
    '',
    'a'.repeat(300_000),
    ...Array.from({ length: 100_000 }, (_, n) => `${n}ü `),
    '😀'.repeat(200_000),
    '',
  ]
  const result = await processExec('cat', [], { signal: never, stdin, maxStdoutBytes: 10_000_000 })
  expect(result.stdout === stdin.join('')).toBe(true)
})

test('whoever wants output as it comes gets all of it, and it is not kept', async () => {
  const pieces: Buffer[] = []
  const onStdout = (piece: Buffer) => void pieces.push(Buffer.from(piece))
  const stdin = 'hällo\n'.repeat(100_000)
  const { stdout } = await processExec('cat', [], { signal: never, stdin, onStdout, maxStdoutBytes: 10_000_000 })
  expect(stdout).toBe('')
  expect(pieces.length).toBeGreaterThan(1)
  expect(Buffer.concat(pieces).toString() === stdin).toBe(true)
})

test('characters beyond the basic plane survive being cut into pieces', async () => {
  const stdin = 'a' + '😀'.repeat(600_000)
  const result = await processExec('cat', [], { signal: never, stdin, maxStdoutBytes: 10_000_000 })
  expect(result.stdout === stdin).toBe(true)
})
