/**
 * A heap snapshot contains everything that the process has in memory, including credentials. So it is never sent over
 * the network: a signal writes it to a file that only the owner of the process can read.
 */
import { createWriteStream } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { getHeapSnapshot } from 'node:v8'
import type { Logger } from '../../core/logger.ts'

const snapshotSignal = 'SIGUSR2'

/** Writes a snapshot at each signal until `signal` aborts, if it is allowed then. */
export async function writeSnapshotsOnSignal(
  { isAllowed, log }: { readonly isAllowed: () => boolean; readonly log: Logger },
  signal: AbortSignal,
): Promise<void> {
  let writing: Promise<void> | undefined
  const onSignal = () => {
    if (!isAllowed()) return log.warn('no heap snapshot: profiling is off')
    writing ??= writeSnapshot(log).finally(() => (writing = undefined))
  }
  process.on(snapshotSignal, onSignal)
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  process.off(snapshotSignal, onSignal)
  await writing
}

async function writeSnapshot(log: Logger): Promise<void> {
  try {
    // A new directory for its owner alone, so that nobody can have put a file or a link there.
    const directory = await mkdtemp(join(tmpdir(), 'fairlead-heap-'))
    const file = join(directory, 'heap.heapsnapshot')
    await pipeline(getHeapSnapshot(), createWriteStream(file, { flags: 'wx', mode: 0o600 }))
    log.warn('heap snapshot written; it holds credentials, so remove it after use', { file })
  } catch (error) {
    log.error('heap snapshot not written', { error })
  }
}
