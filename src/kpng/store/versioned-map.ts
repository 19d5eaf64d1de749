/**
 * A map that keeps older values as long as a reader needs them for a difference. Readers only hold the revision they
 * have seen, so a thousand of them take no more memory than one.
 */
interface Version<T> {
  readonly revision: number
  /** Absent: removed at this revision. */
  readonly value: T | undefined
}

/** How many versions of a value there may be before `onOld` is called for the older ones. */
const youngVersions = 4

export class VersionedMap<T> {
  readonly #onOld: (value: T) => void
  /** Oldest first; there is at least one. */
  readonly #versionsByKey = new Map<string, Version<T>[]>()
  /** What changed when, oldest first. */
  #log: { readonly revision: number; readonly key: string; readonly weight: number }[] = []
  #logStart = 0
  #weight = 0
  #keysVersion = 0

  /** `onOld`: only a reader far behind can still ask for this value, so what can be made again need not be kept. */
  constructor(onOld: (value: T) => void = () => {}) {
    this.#onOld = onOld
  }

  /** Sum over all changes that are kept. */
  get weight(): number {
    return this.#weight
  }

  /** Changes whenever a key is added or removed. */
  get keysVersion(): number {
    return this.#keysVersion
  }

  /** `weight`: what it costs to keep this change, in any unit. */
  set(key: string, revision: number, value: T | undefined, weight = 1): void {
    const versions = this.#versionsByKey.get(key)
    if (versions === undefined) {
      if (value === undefined) return
      this.#versionsByKey.set(key, [{ revision, value }])
      this.#keysVersion++
    } else {
      versions.push({ revision, value })
      const old = versions.at(-1 - youngVersions)?.value
      if (old !== undefined) this.#onOld(old)
    }
    this.#log.push({ revision, key, weight })
    this.#weight += weight
  }

  latest(key: string): T | undefined {
    return this.#versionsByKey.get(key)?.at(-1)?.value
  }

  /** The value at that revision. */
  at(key: string, revision: number): T | undefined {
    const versions = this.#versionsByKey.get(key)
    const newest = versions?.at(-1)
    // The usual case.
    if (newest === undefined || newest.revision <= revision) return newest?.value
    return versions?.findLast((version) => version.revision <= revision)?.value
  }

  /** Every key that has a value, or had one that a reader still knows. */
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
    // Readers are nearly always near the end.
    for (let i = this.#log.length - 1; i >= this.#logStart; i--) {
      const change = this.#log[i]
      if (change === undefined || change.revision <= revision) break
      keys.add(change.key)
    }
    return keys
  }

  /** The oldest revision that a reader may have if only this much is kept. */
  oldestWithin(weight: number): number {
    let excess = this.#weight - weight
    let revision = 0
    for (let i = this.#logStart; excess > 0 && i < this.#log.length; i++) {
      excess -= this.#log[i]?.weight ?? 0
      revision = this.#log[i]?.revision ?? revision
    }
    return revision
  }

  /** No reader has an older revision. */
  forgetBefore(revision: number): void {
    for (; this.#logStart < this.#log.length; this.#logStart++) {
      const change = this.#log[this.#logStart]
      if (change === undefined || change.revision > revision) break
      this.#weight -= change.weight
      this.#forgetVersionsOf(change.key, revision)
    }
    // Moving the rest costs time, so it is only done if most of the log is forgotten.
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
    if (versions.length > 1 || versions[0]?.value !== undefined) return
    this.#versionsByKey.delete(key)
    this.#keysVersion++
  }
}
