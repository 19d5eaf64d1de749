/** IP sets that exist only in memory, and refuse what the kernel refuses. */
import { familyOf } from '../../net/ip.ts'
import { canonicalEntry, parseEntry } from './ipset-text.ts'
import type { Entry } from './ipset-text.ts'
import { assertSetName, IpsetError } from './ipset.ts'
import type { EntryChange, IpSet, Ipset, ListedSet } from './ipset.ts'

interface Content {
  readonly set: IpSet
  entries: Set<string>
}

export class MemoryIpset implements Ipset {
  readonly #contentsByName = new Map<string, Content>()
  readonly #usedNames = new Set<string>()
  readonly #version: string | undefined

  constructor({ version }: { readonly version?: string } = {}) {
    this.#version = version
  }

  /** Acts as if a rule referred to the set. */
  use(name: string): void {
    this.#usedNames.add(name)
  }

  async version(signal: AbortSignal): Promise<string | undefined> {
    signal.throwIfAborted()
    return this.#version
  }

  async list(names: readonly string[], signal: AbortSignal): Promise<readonly ListedSet[]> {
    signal.throwIfAborted()
    return [...this.#contentsByName].flatMap(([name, { set, entries }]) => {
      if (!names.includes(name)) return []
      const family = set.type === 'bitmap:port' ? undefined : set.family
      return [{ name, type: set.type, family, entries: new Set(entries) }]
    })
  }

  async ensure(sets: readonly IpSet[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    for (const set of sets) {
      assertSetName(set.name)
      if (set.name.length > 31)
        throw new IpsetError('refused', `cannot create the set ${set.name}: its name is too long`)
      const old = this.#contentsByName.get(set.name)
      if (old === undefined) this.#contentsByName.set(set.name, { set, entries: new Set() })
      else if (parametersOf(old.set) !== parametersOf(set))
        throw new IpsetError('exists', `cannot create the set ${set.name}: another set has this name`)
    }
  }

  async apply(changes: readonly EntryChange[], signal: AbortSignal): Promise<ReadonlyMap<number, IpsetError>> {
    signal.throwIfAborted()
    const errorsByIndex = new Map<number, IpsetError>()
    for (const { set } of changes) assertSetName(set)
    for (const [index, change] of changes.entries()) {
      const error = this.#carryOut(change)
      if (error !== undefined) errorsByIndex.set(index, error)
    }
    return errorsByIndex
  }

  async swap(first: string, second: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const [one, other] = [this.#contentOf(first, 'swap'), this.#contentOf(second, 'swap')]
    if (one.set.type !== other.set.type)
      throw new IpsetError('refused', `cannot swap the sets ${first} and ${second}: their types differ`)
    ;[one.entries, other.entries] = [other.entries, one.entries]
  }

  async flush(name: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    this.#contentOf(name, 'empty').entries.clear()
  }

  async destroy(name: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#usedNames.has(name))
      throw new IpsetError('in-use', `cannot destroy the set ${name}: a rule still uses it`)
    this.#contentsByName.delete(name)
  }

  #contentOf(name: string, verb: string): Content {
    const found = this.#contentsByName.get(name)
    if (found === undefined) throw new IpsetError('not-found', `cannot ${verb} the set ${name}: there is none`)
    return found
  }

  #carryOut({ kind, set: name, entry: text }: EntryChange): IpsetError | undefined {
    const doing = `${kind} ${text} in the set ${name}`
    const [entry, canonical] = [parseEntry(text), canonicalEntry(text)]
    const content = this.#contentsByName.get(name)
    if (entry === undefined || canonical === undefined)
      return new IpsetError('refused', `cannot ${doing}: it is not a valid entry`)
    if (content === undefined) return new IpsetError('not-found', `cannot ${doing}: there is no such set`)
    const { set, entries } = content
    if (!fits(set, entry)) return new IpsetError('refused', `cannot ${doing}: the set is for ${set.type}`)
    if (kind === 'delete') {
      entries.delete(canonical)
      return undefined
    }
    if (set.type !== 'bitmap:port' && !entries.has(canonical) && entries.size >= (set.maxElements ?? 65_536))
      return new IpsetError('full', `cannot ${doing}: it is full`)
    entries.add(canonical)
    return undefined
  }
}

/** The kernel compares these, and not the family. */
function parametersOf(set: IpSet): string {
  return set.type === 'bitmap:port' ? set.type : `${set.type} ${set.maxElements ?? 65_536}`
}

/** The kernel refuses a network of length 0. */
function fits(set: IpSet, { ip, protocol, source = '' }: Entry): boolean {
  if (set.type === 'bitmap:port') return ip === undefined
  const hasService = protocol !== undefined
  const parts = ['ip', ...(hasService ? ['port'] : []), ...(source === '' ? [] : [source.includes('/') ? 'net' : 'ip'])]
  const isRightType =
    `hash:${parts.join(',')}` === set.type || (set.type === 'hash:ip,port,net' && hasService && source !== '')
  const isRightFamily = [ip, source].every((part) => part === undefined || part === '' || familyOf(part) === set.family)
  return isRightType && isRightFamily && !source.endsWith('/0')
}
