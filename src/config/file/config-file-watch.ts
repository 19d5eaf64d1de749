import { on } from 'node:events'
import { watch } from 'node:fs'
import { open, readFile } from 'node:fs/promises'

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
 * ConfigMap volume that swaps its symlinks, does not stop the proxy. Nor does chmod, touch or removal. On Windows the
 * watch is on the name.
 */
export async function watchConfigFile(watched: ConfigFileWatch, signal: AbortSignal): Promise<Error | undefined> {
  const { path, content } = watched.file
  try {
    await using file = process.platform === 'win32' ? namedFile(path) : await openFile(path)
    using watcher = closing(watch(path))
    const events = on(watcher.it, 'change', { signal }) as AsyncIterableIterator<[event: string]>
    if ((await file.content()) !== content) return updated()
    watched.onWatching?.()
    for await (const [event] of events) {
      const isMovedAway = event === 'rename' && (await file.isMovedAway())
      // A touch and a write look the same to fs.watch, so the content decides.
      if (isMovedAway || ((await file.content()) ?? content) !== content) return updated()
      watched.onIgnored?.(event)
    }
    return undefined
  } catch (error) {
    return signal.aborted ? undefined : new Error(`cannot watch the configuration file ${path}`, { cause: error })
  }
}

interface WatchedFile extends AsyncDisposable {
  /** Undefined while it cannot be told. */
  content(): Promise<string | undefined>
  /** It has a name still, but not the one that is watched. */
  isMovedAway(): Promise<boolean>
}

/** The open handle follows the file through renames and keeps a removed one readable. */
async function openFile(path: string): Promise<WatchedFile> {
  const handle = await open(path)
  return {
    async content() {
      const { size } = await handle.stat()
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, 0)
      return buffer.toString('utf8', 0, bytesRead)
    },
    isMovedAway: async () => (await handle.stat()).nlink > 0,
    [Symbol.asyncDispose]: () => handle.close(),
  }
}

/** On Windows nobody could replace a file that we keep open. A removed one and one that was moved away look the same. */
function namedFile(path: string): WatchedFile {
  return {
    // A writer may keep others out for as long as it writes; when it is done there is another event.
    content: () => readFile(path, 'utf8').catch(() => undefined),
    isMovedAway: () => Promise.resolve(false),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

function updated(): Error {
  return new Error("content of the proxy server's configuration file was updated")
}

function closing<Watcher extends { close(): void }>(it: Watcher): Disposable & { readonly it: Watcher } {
  return { it, [Symbol.dispose]: () => it.close() }
}
