/** Manifests on disk as a source: what an API server would send if these objects were in it. */
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { ObjectIntake } from '../kind-sink.ts'
import { desiredObjects } from './desired-objects.ts'
import { FolderWatch } from './folder-watch.ts'
import { ManifestFolder } from './manifest-folder.ts'
import type { ManifestObject } from './manifest.ts'
import type { Notice } from './notice.ts'

export interface FileSourceOptions {
  readonly paths: readonly string[]
  readonly intake: ObjectIntake
  readonly log: Logger
  readonly clock: Clock
}

/** Where the operating system reports no changes (network file systems), they are found by looking. */
const pollEveryMs = 5_000
/** An editor writes a file in several steps; wait until it is done. */
const settleMs = 50

export class FileSource {
  readonly #options: FileSourceOptions
  readonly #folder: ManifestFolder
  #lastProblems: readonly string[] = []
  #hasDelivered = false
  #toldNotices: ReadonlySet<string> = new Set()

  constructor(options: FileSourceOptions) {
    this.#options = options
    this.#folder = new ManifestFolder(options.paths)
  }

  /** Reads the files once and delivers what they hold. Returns what is wrong with them. */
  async load(): Promise<readonly string[]> {
    const { objects, problems, isComplete } = await this.#folder.read()
    // If a file cannot be read at first, its objects must not look deleted. Later, a file that was never readable has
    // delivered nothing that could be removed.
    if (isComplete || this.#hasDelivered) this.#deliver(objects)
    return problems
  }

  /** Follows the files until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    using watch = new FolderWatch(this.#options.paths)
    while (!signal.aborted) {
      const changed = watch.nextChange()
      this.#report(await this.load())
      await this.#waitFor(changed, signal)
    }
  }

  async #waitFor(changed: Promise<void>, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const done = new AbortController()
    const both = AbortSignal.any([signal, done.signal])
    // Both waits end with the signal, and an abort is not an error here.
    await Promise.race([changed, clock.sleep(pollEveryMs, both)]).catch(() => {})
    done.abort()
    if (!signal.aborted) await clock.sleep(settleMs, signal).catch(() => {})
  }

  #report(problems: readonly string[]): void {
    const { log } = this.#options
    for (const problem of problems)
      if (!this.#lastProblems.includes(problem))
        log.error('manifest is ignored; its last good content stays in use', { problem })
    if (problems.length === 0 && this.#lastProblems.length > 0) log.info('every manifest is readable again')
    this.#lastProblems = problems
  }

  #deliver(objects: readonly ManifestObject[]): void {
    this.#hasDelivered = true
    const { byKind, notices } = desiredObjects(objects)
    this.#logNew(notices)
    // The Node first: it says in which zone we are, and thereby which endpoints are near.
    for (const kind of ['Node', 'ServiceCIDR', 'Namespace', 'EndpointSlice', 'Service'] as const) {
      const sink = this.#options.intake.sink(kind)
      sink.replace(byKind[kind].map((object) => sink.read(object)))
    }
  }

  /** Each notice once, and again if it went away in between. */
  #logNew(notices: readonly Notice[]): void {
    const told = new Set<string>()
    for (const notice of notices) {
      const text = JSON.stringify(notice)
      if (!told.has(text) && !this.#toldNotices.has(text))
        this.#options.log[notice.level](notice.message, notice.fields)
      told.add(text)
    }
    this.#toldNotices = told
  }
}
