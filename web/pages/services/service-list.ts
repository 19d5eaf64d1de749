/**
 * The Services that the page knows, and those it shows, in order. Rows live here and not in signals: of 10,000 with 100
 * changes a second, only the few that are on the screen are drawn.
 */
import type { ServiceRow, ServicesChange } from '../../../src/observe/console/wire.ts'
import { placeOf, sorted, sortValue } from './order.ts'
import { filters, isSameSort } from './question.ts'
import type { Filter, Question } from './question.ts'
import { haystackOf, isFound, isKept, isNarrower, wordsIn } from './search.ts'

export interface Entry {
  row: ServiceRow
  readonly namespace: string
  readonly name: string
  haystack: string
  isMatch: boolean
}

type Namespace = readonly [name: string, services: number]

export class ServiceList {
  #entries = new Map<string, Entry>()
  /** The keys of a list whose end has not come yet. What was there before, and is not among them, stays until then. */
  #coming: Set<string> | undefined
  /** All, in an order that may be a little old. */
  #ordered: Entry[] = []
  #shown: readonly Entry[] = []
  #question: Question
  #words: readonly string[]
  #added = new Set<Entry>()
  #gone = new Set<Entry>()
  #isShownOld = false
  #isOrderOld = false
  #isComplete = false
  readonly #counts = new Map<Filter, number>()
  readonly #servicesByNamespace = new Map<string, number>()
  #namespaces: readonly Namespace[] | undefined

  constructor(question: Question) {
    this.#question = question
    this.#words = wordsIn(question.text)
  }

  /** Those that match, as of the last `settle` or `ask`. */
  get shown(): readonly Entry[] {
    return this.#shown
  }

  get total(): number {
    return this.#entries.size
  }

  /** Of a list that is on its way. */
  get coming(): number {
    return this.#coming?.size ?? 0
  }

  /** A whole list was heard once. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** The order would be another one if it were made anew. */
  get isOrderOld(): boolean {
    return this.#isOrderOld
  }

  /** How many each filter would keep of all. */
  count(filter: Filter): number {
    return this.#counts.get(filter) ?? 0
  }

  /** The same as before unless some have changed. */
  get namespaces(): readonly Namespace[] {
    return (this.#namespaces ??= [...this.#servicesByNamespace].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  apply({ isFirst, hasMore, rows, gone = [], traffic = {} }: ServicesChange): void {
    if (isFirst === true) this.#coming = new Set()
    for (const row of rows) {
      this.#coming?.add(row.key)
      this.#set(row)
    }
    if (hasMore !== true) this.#endList()
    for (const key of gone) this.#delete(key)
    for (const [key, numbers] of Object.entries(traffic)) {
      const entry = this.#entries.get(key)
      if (entry !== undefined) this.#change(entry, { ...entry.row, traffic: numbers })
    }
  }

  /** Another question is answered at once, and in fresh order. */
  ask(question: Question): void {
    const before = this.#question
    const words = wordsIn(question.text)
    const isNarrowing =
      isNarrower(this.#words, words) &&
      (before.namespace === '' || before.namespace === question.namespace) &&
      before.filters.every((filter) => question.filters.includes(filter))
    this.#question = question
    this.#words = words
    for (const entry of this.#entries.values()) if (!isNarrowing || entry.isMatch) entry.isMatch = this.#isMatch(entry)
    this.#isShownOld = true
    if (!isSameSort(before.sort, question.sort)) this.#isOrderOld = true
    this.settle({ mayReorder: true })
  }

  /** Brings what is shown up to date; true if other rows are shown than before, or in another order. */
  settle({ mayReorder }: { readonly mayReorder: boolean }): boolean {
    // Rows that move while the first list is filled are no help to anybody.
    if (!this.#isComplete) return false
    const { sort } = this.#question
    const isReordered = this.#isOrderOld && mayReorder
    if (this.#added.size > 0 || this.#gone.size > 0 || isReordered) {
      if (this.#gone.size > 0) this.#ordered = this.#ordered.filter((entry) => !this.#gone.has(entry))
      // A few find their places; many are sorted with all others.
      const isFew = this.#added.size <= 32
      if (isReordered || !isFew) {
        this.#ordered = sorted([...this.#ordered, ...this.#added], sort)
        this.#isOrderOld = false
      } else for (const entry of this.#added) this.#ordered.splice(placeOf(entry, this.#ordered, sort), 0, entry)
      this.#added.clear()
      this.#gone.clear()
      this.#isShownOld = true
    }
    if (!this.#isShownOld) return false
    this.#isShownOld = false
    this.#shown = this.#ordered.filter(({ isMatch }) => isMatch)
    return true
  }

  #endList(): void {
    const listed = this.#coming
    if (listed === undefined) return
    this.#coming = undefined
    this.#isComplete = true
    for (const key of this.#entries.keys()) if (!listed.has(key)) this.#delete(key)
  }

  #set(row: ServiceRow): void {
    const known = this.#entries.get(row.key)
    if (known !== undefined) {
      this.#change(known, row)
      return
    }
    const slash = row.key.indexOf('/')
    const entry: Entry = {
      row,
      namespace: row.key.slice(0, slash),
      name: row.key.slice(slash + 1),
      haystack: haystackOf(row),
      isMatch: false,
    }
    entry.isMatch = this.#isMatch(entry)
    this.#entries.set(row.key, entry)
    this.#added.add(entry)
    this.#tally(entry, 1)
    this.#tallyNamespace(entry, 1)
  }

  #change(entry: Entry, row: ServiceRow): void {
    const before = entry.row
    const valueOf = sortValue[this.#question.sort.column]
    const valueBefore = valueOf(entry)
    this.#tally(entry, -1)
    entry.row = row
    this.#tally(entry, 1)
    if (valueOf(entry) !== valueBefore) this.#isOrderOld = true
    if (!isSameText(before, row)) entry.haystack = haystackOf(row)
    const isMatch = this.#isMatch(entry)
    if (isMatch !== entry.isMatch) this.#isShownOld = true
    entry.isMatch = isMatch
  }

  #delete(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#tally(entry, -1)
    this.#tallyNamespace(entry, -1)
    if (!this.#added.delete(entry)) this.#gone.add(entry)
  }

  #isMatch({ row, namespace, haystack }: Entry): boolean {
    const { filters, namespace: wanted } = this.#question
    if (wanted !== '' && namespace !== wanted) return false
    for (const filter of filters) if (!isKept[filter](row)) return false
    return isFound(haystack, this.#words)
  }

  #tally({ row }: Entry, by: 1 | -1): void {
    for (const filter of filters)
      if (isKept[filter](row)) this.#counts.set(filter, (this.#counts.get(filter) ?? 0) + by)
  }

  #tallyNamespace({ namespace }: Entry, by: 1 | -1): void {
    const services = (this.#servicesByNamespace.get(namespace) ?? 0) + by
    if (services === 0) this.#servicesByNamespace.delete(namespace)
    else this.#servicesByNamespace.set(namespace, services)
    this.#namespaces = undefined
  }
}

/** New numbers come far more often than new names. */
function isSameText(a: ServiceRow, b: ServiceRow): boolean {
  return (
    a.clusterIPs === b.clusterIPs &&
    a.ports === b.ports &&
    a.external === b.external &&
    a.policies === b.policies &&
    a.type === b.type
  )
}
