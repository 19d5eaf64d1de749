import { on } from 'node:events'
import { watch } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

export interface LoadedFile {
  readonly path: string
  /** What was read at start: a change between then and now counts as well. */
  readonly content: string
}

export interface ConfigFileWatch {
  readonly file: LoadedFile
  /** Called once the watch is in place. */
  onWatching?(): void
  /** Called for each event that has no effect, for the log. */
  onIgnored?(event: string): void
}

/**
 * Waits until the configuration file is written to or moved away, and resolves with the error to exit with; or with
 * undefined once the signal has aborted.
 *
 * The watch is on the file that was loaded, not on its name, as in kube-proxy: another file renamed over it, or a
 * ConfigMap volume that swaps its symlinks, does not stop the proxy. Nor does chmod, touch or removal.
 */
export async function watchConfigFile(watched: ConfigFileWatch, signal: AbortSignal): Promise<Error | undefined> {
  const { path, content } = watched.file
  let handle: FileHandle | undefined
  try {
    // The open handle follows the file through renames and keeps a removed one readable.
    handle = await open(path)
    using watcher = closing(watch(path))
    const events = on(watcher.it, 'change', { signal }) as AsyncIterableIterator<[event: string]>
    if ((await contentOf(handle)) !== content) return updated()
    watched.onWatching?.()
    for await (const [event] of events) {
      const isMovedAway = event === 'rename' && (await handle.stat()).nlink > 0
      // A touch and a write look the same to fs.watch, so the content decides.
      if (isMovedAway || (await contentOf(handle)) !== content) return updated()
      watched.onIgnored?.(event)
    }
    return undefined
  } catch (error) {
    return signal.aborted ? undefined : new Error(`cannot watch the configuration file ${path}`, { cause: error })
  } finally {
    await handle?.close()
  }
}

function updated(): Error {
  return new Error("content of the proxy server's configuration file was updated")
}

async function contentOf(file: FileHandle): Promise<string> {
  const { size } = await file.stat()
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0)
  return buffer.toString('utf8', 0, bytesRead)
}

function closing<Watcher extends { close(): void }>(it: Watcher): Disposable & { readonly it: Watcher } {
  return { it, [Symbol.dispose]: () => it.close() }
}
