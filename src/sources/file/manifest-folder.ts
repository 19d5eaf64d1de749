/** Finds the manifest files behind the paths a user gave, and reads those that changed since last time. */
import { readFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { parseManifest } from './manifest.ts'
import type { ManifestObject } from './manifest.ts'

/** As a path it means standard input, which is read once. */
export const standardInput = '-'

const manifestName = /^[^.].*\.(ya?ml|json)$/i

interface LoadedFile {
  /** Changes whenever the content may have changed. */
  readonly version: string
  /** The newest content that could be read, if there ever was any. */
  readonly objects: readonly ManifestObject[] | undefined
  readonly problem: string | undefined
}

export interface Reading {
  readonly objects: readonly ManifestObject[]
  /** One sentence per file, in order. */
  readonly problems: readonly string[]
  /** Every file was readable at least once, so the objects are all there. */
  readonly isComplete: boolean
}

export class ManifestFolder {
  readonly #paths: readonly string[]
  #filesByName: ReadonlyMap<string, LoadedFile> = new Map()

  /** Paths of files, or of folders whose *.yaml, *.yml and *.json files count (not those of subfolders), or `-`. */
  constructor(paths: readonly string[]) {
    this.#paths = paths
  }

  /** Reads what changed. A file that cannot be read keeps its last good objects; a file deleted from a folder is gone. */
  async read(): Promise<Reading> {
    const next = new Map<string, LoadedFile>()
    const problems: string[] = []
    let isComplete = true
    for (const path of this.#paths) {
      const found = await this.#filesBehind(path)
      if (found.problem !== undefined) {
        problems.push(found.problem)
        isComplete &&= found.names.length > 0
      }
      for (const name of found.names) next.set(name, await this.#load(name))
    }
    this.#filesByName = next
    const files = [...next.values()]
    problems.push(...files.flatMap(({ problem }) => problem ?? []))
    return {
      objects: files.flatMap(({ objects }) => objects ?? []),
      problems,
      isComplete: isComplete && files.every(({ objects }) => objects !== undefined),
    }
  }

  async #filesBehind(path: string): Promise<{ readonly names: readonly string[]; readonly problem?: string }> {
    if (path === standardInput) return { names: [path] }
    try {
      if (!(await stat(path)).isDirectory()) return { names: [path] }
      const names = (await readdir(path)).filter((name) => manifestName.test(name)).sort()
      return { names: names.map((name) => join(path, name)) }
    } catch (error) {
      // A path that vanished is more likely a mount or an editor at work than a wish to delete everything.
      const known = [...this.#filesByName.keys()].filter((name) => name === path || name.startsWith(join(path, '/')))
      return { names: known, problem: `${path}: ${reasonOf(error)}` }
    }
  }

  async #load(name: string): Promise<LoadedFile> {
    const previous = this.#filesByName.get(name)
    if (name === standardInput)
      return previous ?? this.#parse('standard input', '', await textOf(process.stdin), undefined)
    try {
      const { mtimeMs, size, ino } = await stat(name)
      const version = `${mtimeMs} ${size} ${ino}`
      if (previous?.version === version) return previous
      return this.#parse(name, version, await readFile(name, 'utf8'), previous)
    } catch (error) {
      return { version: '', objects: previous?.objects, problem: `${name}: ${reasonOf(error)}` }
    }
  }

  #parse(name: string, version: string, text: string, previous: LoadedFile | undefined): LoadedFile {
    try {
      return { version, objects: parseManifest(text, name), problem: undefined }
    } catch (error) {
      return { version, objects: previous?.objects, problem: reasonOf(error) }
    }
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ENOENT') return 'no such file or folder'
  if (code === 'EACCES') return 'permission denied'
  return error instanceof Error ? error.message : String(error)
}
