/** Keeps two servers from sharing a data directory. The lock of a process that has ended does not count. */
import { randomUUID } from 'node:crypto'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { JournalError } from './journal-error.ts'
import { privateMode } from './private-files.ts'

export async function lockDirectory(directory: string): Promise<AsyncDisposable> {
  const path = join(directory, 'lock')
  const mine = JSON.stringify({ pid: process.pid, started: await startOf(process.pid), token: randomUUID() })
  for (;;) {
    try {
      await writeFile(path, mine, { flag: 'wx', mode: privateMode })
      break
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      await removeStaleLock(path, directory)
    }
  }
  return {
    async [Symbol.asyncDispose]() {
      if ((await contentOf(path)) === mine) await rm(path, { force: true })
    },
  }
}

async function removeStaleLock(path: string, directory: string): Promise<void> {
  const found = await contentOf(path)
  if (found === undefined) return
  const holder = parseHolder(found)
  if (holder !== undefined && (await isAlive(holder))) throw inUse(directory, holder.pid)
  // Another server may do the same at this moment. If the file that was moved is not the stale lock that was read, it
  // is moved back.
  const aside = `${path}.stale-${randomUUID()}`
  try {
    await rename(path, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  if ((await contentOf(aside)) !== found) await link(aside, path).catch(() => undefined)
  await rm(aside, { force: true })
}

interface Holder {
  readonly pid: number
  readonly started: string | undefined
}

/** A crash may have left a lock that is cut short. */
function parseHolder(text: string): Holder | undefined {
  try {
    const { pid, started } = JSON.parse(text) as Partial<Holder>
    return typeof pid === 'number' ? { pid, started } : undefined
  } catch {
    return undefined
  }
}

async function isAlive(holder: Holder): Promise<boolean> {
  try {
    process.kill(holder.pid, 0)
  } catch (error) {
    // EPERM: the process exists, but belongs to another user.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  // A process id is reused after a reboot or a while, but then the start time differs.
  const started = await startOf(holder.pid)
  return started === undefined || holder.started === undefined || started === holder.started
}

/** When the process started, in ticks since boot, where there is a /proc. */
async function startOf(pid: number): Promise<string | undefined> {
  const stat = await contentOf(`/proc/${pid}/stat`)
  // The command name may contain spaces and brackets, so count from the last bracket.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
}

async function contentOf(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined)
}

function inUse(directory: string, pid: number): JournalError {
  return new JournalError(
    'in-use',
    `cannot open data directory ${directory}: process ${pid} uses it; stop that one or give another directory`,
  )
}
