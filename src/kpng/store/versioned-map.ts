/**
 * A map that remembers older values as long as some reader still has to be told the difference. Readers hold nothing
 * but the revision they have seen, so a thousand of them cost no more memory than one.
 */
interface Version<T> {
  readonly revision: number
  /** Undefined: removed at this revision. */
  readonly value: T | undefined
}

export class VersionedMap<T> {
  /** Oldest first; there is at least one. */
  readonly #versionsByKey = new Map<string, Version<T>[]>()
  /** What changed when, oldest first. */
  #log: { readonly revision: number; readonly key: string }[] = []
  #logStart = 0

  /** How many changes are remembered. */
  get depth(): number {
    return this.#log.length - this.#logStart
  }

  set(key: string, revision: number, value: T | undefined): void {
    const versions = this.#versionsByKey.get(key)
    if (versions === undefined) {
      if (value === undefined) return
      this.#versionsByKey.set(key, [{ revision, value }])
    } else versions.push({ revision, value })
    this.#log.push({ revision, key })
  }

  latest(key: string): T | undefined {
    return this.#versionsByKey.get(key)?.at(-1)?.value
  }

  /** The value as a reader of that revision knows it. */
  at(key: string, revision: number): T | undefined {
    return this.#versionsByKey.get(key)?.findLast((version) => version.revision <= revision)?.value
  }

  /** Every key that has a value, or had one for some reader. */
  keys(): Iterable<string> {
    return this.#versionsByKey.keys()
  }

  *values(): Generator<T> {
    for (const versions of this.#versionsByKey.values()) {
      const value = versions.at(-1)?.value
      if (value !== undefined) yield value
    }
  }

  changedSince(revision: number): ReadonlySet<string> {
    const keys = new Set<string>()
    // From the end: readers are nearly always close to it.
    for (let i = this.#log.length - 1; i >= this.#logStart; i--) {
      const change = this.#log[i]
      if (change === undefined || change.revision <= revision) break
      keys.add(change.key)
    }
    return keys
  }

  /** The revision after the oldest `count` remembered changes. */
  revisionAfter(count: number): number {
    return this.#log[this.#logStart + count - 1]?.revision ?? 0
  }

  /** No reader is older than this revision any more. */
  forgetBefore(revision: number): void {
    for (; this.#logStart < this.#log.length; this.#logStart++) {
      const change = this.#log[this.#logStart]
      if (change === undefined || change.revision > revision) break
      this.#forgetVersionsOf(change.key, revision)
    }
    // Moving the rest down costs as much as was forgotten, so only when that is most of it.
    if (this.#logStart > 1024 && this.#logStart > this.#log.length / 2) {
      this.#log = this.#log.slice(this.#logStart)
      this.#logStart = 0
    }
  }

  #forgetVersionsOf(key: string, revision: number): void {
    const versions = this.#versionsByKey.get(key)
    if (versions === undefined) return
    const kept = versions.findLastIndex((version) => version.revision <= revision)
    if (kept > 0) versions.splice(0, kept)
    if (versions.length === 1 && versions[0]?.value === undefined) this.#versionsByKey.delete(key)
  }
}
