import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { oncePerRun } from './once-per-run.ts'
import type { Run } from './once-per-run.ts'

describe.skipIf(process.platform !== 'linux')('once per run', () => {
  let run: Run

  beforeEach(async () => {
    run = { folder: await mkdtemp(join(tmpdir(), 'once-per-run-')), pid: process.pid }
  })

  afterEach(async () => {
    await rm(run.folder, { recursive: true })
  })

  test('many ask at once, one computes, and all have its answer', async () => {
    let computed = 0
    const ask = async (): Promise<string> => oncePerRun('answer', async () => `answer ${++computed}`, run)
    expect(await Promise.all([ask(), ask(), ask()])).toEqual(['answer 1', 'answer 1', 'answer 1'])
    expect(await ask()).toBe('answer 1')
  })

  test('after a failure the next one computes', async () => {
    const failing = oncePerRun('answer', async () => Promise.reject(new Error('no')), run)
    await expect(failing).rejects.toThrow('no')
    expect(await oncePerRun('answer', async () => 'yes', run)).toBe('yes')
  })

  test('one who was ended in the middle of it is not waited for', async () => {
    await oncePerRun('answer', async () => 'lost', run)
    const [file = ''] = await readdir(run.folder)
    await rm(join(run.folder, file))
    await writeFile(join(run.folder, `${file}.lock`), String(await endedProcess()))
    expect(await oncePerRun('answer', async () => 'found', run)).toBe('found')
  })

  test('what ended runs have left is removed', async () => {
    await writeFile(join(run.folder, `fairlead-answer-${await endedProcess()}-12345.json`), '"old"')
    expect(await oncePerRun('answer', async () => 'new', run)).toBe('new')
    expect(await readdir(run.folder)).toHaveLength(1)
  })
})

async function endedProcess(): Promise<number | undefined> {
  const child = spawn('true')
  await once(child, 'exit')
  return child.pid
}
