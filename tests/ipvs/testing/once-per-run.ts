/** One answer for all test files of a run. They are processes of their own, so it goes through a file. */
import { readFileSync } from 'node:fs'
import { readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Run {
  /** Where the answers are kept. */
  readonly folder: string
  /** The process that started all others of the run. */
  readonly pid: number
}

/** Vitest starts a process for each test file. */
const thisRun: Run = { folder: tmpdir(), pid: process.ppid }

/** What `compute` answered to the first who asked in this run. Nobody else's is called, unless the first one failed. */
export async function oncePerRun<T>(name: string, compute: () => Promise<T>, run = thisRun): Promise<T> {
  const prefix = `fairlead-${name}-`
  const file = join(run.folder, `${prefix}${run.pid}-${startOf(run.pid)}.json`)
  const lock = `${file}.lock`
  const known = async (): Promise<string | undefined> => readFile(file, 'utf8').catch(() => undefined)
  for (;;) {
    const answer = await known()
    if (answer !== undefined) return JSON.parse(answer) as T
    if (await take(lock)) break
    await sleep(50)
  }
  try {
    // Somebody may have finished between our look and our lock.
    const answer = await known()
    if (answer !== undefined) return JSON.parse(answer) as T
    await removeOfEndedRuns(run.folder, prefix)
    const computed = await compute()
    await writeFile(`${file}.new`, JSON.stringify(computed))
    await rename(`${file}.new`, file)
    return computed
  } finally {
    await rm(lock, { force: true })
  }
}

async function take(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    const owner = Number(await readFile(lock, 'utf8').catch(() => ''))
    // It was ended in the middle of its work.
    if (owner > 0 && startOf(owner) === undefined) await rm(lock, { force: true })
    return false
  }
}

async function removeOfEndedRuns(folder: string, prefix: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, pid, start] = new RegExp(`^${prefix}(\\d+)-(\\d+)\\.json`).exec(name) ?? []
    if (pid !== undefined && startOf(Number(pid)) !== start)
      // Those of other users stay.
      await rm(join(folder, name), { force: true }).catch(() => {})
  }
}

/** When the process began, in ticks; undefined when it has ended. A number is used again, but not with the same beginning. */
function startOf(pid: number): string | undefined {
  try {
    // The second field is a name in brackets, and may have anything in it.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return fields[0] === 'Z' ? undefined : fields[19]
  } catch {
    return undefined
  }
}
