/** Tells when something has changed in or around the given paths, so that files need not be polled all the time. */
import { statSync, watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { dirname } from 'node:path'
import { standardInput } from './manifest-folder.ts'

export class FolderWatch {
  readonly #watchers: FSWatcher[] = []
  #notify: () => void = () => {}

  constructor(paths: readonly string[]) {
    const followed = paths.filter((path) => path !== standardInput)
    for (const folder of new Set(followed.map(folderOf))) {
      try {
        const watcher = watch(folder, () => this.#notify())
        watcher.on('error', () => watcher.close()) // the folder is gone; whoever reads it reports that
        this.#watchers.push(watcher)
      } catch {
        // It cannot be watched (it does not exist, or no inotify watch is left). The reader looks now and then anyway.
      }
    }
  }

  /** Resolves at the first change after this call. */
  nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#notify = resolve
    })
  }

  [Symbol.dispose](): void {
    for (const watcher of this.#watchers) watcher.close()
  }
}

/** A file is watched through its folder: editors replace files, and a watch on the old one would see nothing. */
function folderOf(path: string): string {
  try {
    return statSync(path).isDirectory() ? path : dirname(path)
  } catch {
    return dirname(path)
  }
}
