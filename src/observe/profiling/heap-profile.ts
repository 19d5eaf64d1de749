/**
 * Which functions allocated what is in memory now. V8 records where about one allocation per half megabyte comes from,
 * but not its content: a profile has names of functions and files, and sizes.
 */
import { Session } from 'node:inspector/promises'
import type { HeapProfiler } from 'node:inspector'
import { encodePprof } from './pprof.ts'
import type { Frame, PprofProfile } from './pprof.ts'

/** As in Go. */
const samplingInterval = 512 * 1024

export class HeapSampling implements Disposable {
  readonly #session = new Session()
  readonly #started: Promise<unknown>

  constructor() {
    this.#session.connect()
    this.#started = this.#session.post('HeapProfiler.startSampling', { samplingInterval })
    // Reported when a profile is requested.
    this.#started.catch(() => {})
  }

  /** What was allocated since the start and is still in use, in pprof's format. */
  async profile(nowMs: number): Promise<Uint8Array> {
    await this.#started
    const { profile } = await this.#session.post('HeapProfiler.getSamplingProfile')
    return encodePprof({
      type: 'inuse_space',
      unit: 'bytes',
      period: samplingInterval,
      takenAtMs: nowMs,
      samples: [...samplesBelow(profile.head, [])],
    })
  }

  [Symbol.dispose](): void {
    this.#session.disconnect()
  }
}

function* samplesBelow(
  { callFrame, selfSize, children }: HeapProfiler.SamplingHeapProfileNode,
  callers: readonly Frame[],
): Iterable<PprofProfile['samples'][number]> {
  const { functionName, url, lineNumber } = callFrame
  const frame = { functionName: functionName || '(anonymous)', file: url, line: lineNumber + 1 }
  const stack = [frame, ...callers]
  if (selfSize > 0) yield { stack, value: selfSize }
  for (const child of children) yield* samplesBelow(child, stack)
}
