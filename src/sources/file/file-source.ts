/** Manifests on disk as a source: what an API server would send if these objects were in it. */
import { objectKinds } from '../../api/records.ts'
import type { ObjectKind } from '../../api/records.ts'
import { isJsonObject } from '../../api/json-reader.ts'
import type { JsonObject } from '../../api/json-reader.ts'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { ObjectIntake } from '../kind-sink.ts'
import { completeObject, isHidden, proxiedKind } from './complete-object.ts'
import { FolderWatch } from './folder-watch.ts'
import { ManifestFolder } from './manifest-folder.ts'

export interface FileSourceOptions {
  readonly paths: readonly string[]
  /** Takes what the files hold. */
  readonly intake: ObjectIntake
  readonly log: Logger
  readonly clock: Clock
}

/** Where the operating system reports no changes (network file systems), they are found by looking. */
const lookAnywayMs = 5_000
/** An editor writes a file in several steps; wait until it is done. */
const settleMs = 50

export class FileSource {
  readonly #options: FileSourceOptions
  readonly #folder: ManifestFolder
  #lastProblems: readonly string[] = []
  #hasDelivered = false
  readonly #ignoredKinds = new Set<string>()
  readonly #repeatedObjects = new Set<string>()

  constructor(options: FileSourceOptions) {
    this.#options = options
    this.#folder = new ManifestFolder(options.paths)
  }

  /** Reads the files once and delivers what they hold. Returns what is wrong with them. */
  async load(): Promise<readonly string[]> {
    const { objects, problems, isComplete } = await this.#folder.read()
    // A first reading with a hole in it must not look like the wish to remove what the hole would have held. Later,
    // a file that was never good has nothing to remove.
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
    // Both waits end with the signal; being aborted is not an error here.
    await Promise.race([changed, clock.sleep(lookAnywayMs, both)]).catch(() => {})
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

  #deliver(objects: readonly JsonObject[]): void {
    this.#hasDelivered = true
    this.#reportRepeated(objects)
    const rawByKind = new Map<ObjectKind, JsonObject[]>(objectKinds.map((kind) => [kind, []]))
    for (const object of objects) {
      const kind = proxiedKind(object)
      if (kind === undefined) this.#ignoreKind(String(object['kind']))
      else if (!isHidden(kind, object)) rawByKind.get(kind)?.push(completeObject(kind, object))
    }
    // The Node first: it says in which zone we are, and thereby which endpoints are near.
    for (const kind of ['Node', 'ServiceCIDR', 'EndpointSlice', 'Service'] as const) {
      const sink = this.#options.intake.sink(kind)
      sink.replace((rawByKind.get(kind) ?? []).map((object) => sink.read(object)))
    }
  }

  #reportRepeated(objects: readonly JsonObject[]): void {
    const seen = new Set<string>()
    for (const object of objects) {
      const id = identityOf(object)
      if (seen.has(id) && !this.#repeatedObjects.has(id)) {
        this.#repeatedObjects.add(id)
        this.#options.log.warn('object is in the manifests more than once; the last one is used', { object: id })
      }
      seen.add(id)
    }
  }

  #ignoreKind(kind: string): void {
    if (this.#ignoredKinds.has(kind)) return
    this.#ignoredKinds.add(kind)
    this.#options.log.info('objects of this kind are ignored, because a service proxy does not use them', { kind })
  }
}

function identityOf(object: JsonObject): string {
  const { namespace = 'default', name } = isJsonObject(object['metadata']) ? object['metadata'] : {}
  return `${String(object['kind'])} ${String(namespace)}/${String(name)}`
}
