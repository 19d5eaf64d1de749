/** What is ours, in a file that survives a restart and a power cut. */
import { open, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Logger } from '../../core/logger.ts'
import { OneAtATime } from '../../core/sync/one-at-a-time.ts'
import { makePrivateFolder } from '../../host/private-folder.ts'
import { renameOver } from '../../host/rename-over.ts'
import { parseRecord, renderLines, renderRecord } from './owned-object-lines.ts'
import type { OwnedObjects } from './owned-objects.ts'

export interface OwnedObjectsFile {
  readonly path: string
  readonly log: Logger
}

/** A file that cannot be used is logged, and counts as empty: better to leave something of ours than to delete others'. */
export async function openOwnedObjects({ path, log }: OwnedObjectsFile): Promise<OwnedObjects> {
  const found = await readRecord(path)
  if (!('problem' in found))
    return new FileOwnedObjects(path, log, found.objects, found.isTorn ? undefined : found.lines)
  log.warn('the record of what is ours cannot be used, so what an earlier run made and nobody needs stays', {
    file: path,
    problem: found.problem,
    fix: 'remove by hand what no Service uses; the file is written anew',
  })
  return new FileOwnedObjects(path, log, new Set(), undefined)
}

class FileOwnedObjects implements OwnedObjects {
  readonly #path: string
  readonly #log: Logger
  readonly #objects: Set<string>
  readonly #writes = new OneAtATime()
  /** Of the file. Unknown: nothing may be appended, it must be written anew. */
  #lines: number | undefined
  #hasFailed = false

  constructor(path: string, log: Logger, objects: ReadonlySet<string>, lines: number | undefined) {
    this.#path = path
    this.#log = log
    this.#objects = new Set(objects)
    this.#lines = lines
  }

  has(object: string): boolean {
    return this.#objects.has(object)
  }

  list(): readonly string[] {
    return [...this.#objects]
  }

  add(objects: readonly string[]): Promise<void> {
    const broken = objects.find((object) => object.includes('\n'))
    if (broken !== undefined) throw new Error(`an object is one line, not ${JSON.stringify(broken)}`)
    return this.#writes.run(async () => {
      const added = objects.filter((object) => !this.#objects.has(object))
      for (const object of added) this.#objects.add(object)
      await this.#write('+', added)
    })
  }

  remove(objects: readonly string[]): Promise<void> {
    return this.#writes.run(async () =>
      this.#write(
        '-',
        objects.filter((object) => this.#objects.delete(object)),
      ),
    )
  }

  async #write(sign: '+' | '-', changed: readonly string[]): Promise<void> {
    if (changed.length === 0 && this.#lines !== undefined) return
    try {
      const lines = (this.#lines ?? 0) + changed.length
      // After this the file is what it was, or what it should be, or nobody knows.
      const isWorthIt = this.#lines !== undefined && lines <= 2 * this.#objects.size + 1000
      this.#lines = undefined
      const isAppended = isWorthIt && (await append(this.#path, renderLines(sign, changed)))
      if (!isAppended) await replace(this.#path, renderRecord(this.#objects))
      this.#lines = isAppended ? lines : this.#objects.size
      this.#hasFailed = false
    } catch (error) {
      if (this.#hasFailed) return
      this.#hasFailed = true
      this.#log.warn('what is ours could not be written down, so a restart would not know it', {
        file: this.#path,
        error,
      })
    }
  }
}

async function readRecord(path: string): Promise<ReturnType<typeof parseRecord>> {
  try {
    return parseRecord(await readFile(path, 'utf8'))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return parseRecord('')
    return { problem: String(error) }
  }
}

/** Opened each time: Windows does not replace a file that is open. Returns whether what came before is still there. */
async function append(path: string, text: string): Promise<boolean> {
  await using file = await open(path, 'a')
  if ((await file.stat()).size === 0) return false
  await file.appendFile(text)
  await file.datasync()
  return true
}

async function replace(path: string, text: string): Promise<void> {
  makePrivateFolder(dirname(path))
  const temporary = `${path}.new`
  const file = await open(temporary, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await renameOver(temporary, path)
  if (process.platform === 'win32') return // a folder cannot be opened there
  await using folder = await open(dirname(path), 'r')
  await folder.sync()
}
