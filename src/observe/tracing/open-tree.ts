/** A tree of spans while it grows. */
import type { Clock } from '../../core/clock.ts'
import { noSpan } from '../../core/trace.ts'
import type { AttributeValue, Span, SpanAttributes, SpanContext, SpanLink, SpanRecord } from '../../core/trace.ts'
import { addAttributes, failureOf } from './attributes.ts'
import { LazyContext } from './lazy-context.ts'
import { plainRecord } from './plain-record.ts'
import type { RandomIds } from './random-ids.ts'

/**
 * However much one sync does, its tree stays small: so many spans with the same name below one parent, and so many
 * below the root's own children. The root says how many there would be more, in `spans.dropped`.
 */
export const treeLimits = { sameNamed: 100, deep: 1000 } as const

export interface TreeParts {
  readonly ids: RandomIds
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly onFinished: (root: SpanRecord) => void
}

/** What the spans of one tree share. */
interface Tree {
  readonly parts: TreeParts
  /** What to add to monotonic time to get wall-clock time: a clock that is set meanwhile moves no child out of the root. */
  readonly wallOffsetMs: number
  /** Of another process: the root belongs to that trace. */
  readonly parent: SpanContext | undefined
  /** All of them, each after the one that it is part of. */
  readonly spans: OpenSpan[]
  /** Of each span when it began and how long it took: in its object, each number would be an object of its own. */
  readonly times: number[]
  /** How many are below the root's own children. */
  deep: number
  dropped: number
  /** How many children of each name a span has, where there are so many that it matters. */
  crowds: Map<OpenSpan, Map<string, number>> | undefined
  /** Once somebody has looked. */
  childrenBySpan: ReadonlyMap<OpenSpan, readonly OpenSpan[]> | undefined
}

export function openTree(parts: TreeParts, name: string, { attributes, parent, links }: RootStart): Span {
  const startedAt = parts.clock.monotonic()
  const tree: Tree = {
    parts,
    wallOffsetMs: parts.clock.now() - startedAt,
    parent,
    spans: [],
    times: [startedAt, notEnded],
    deep: 0,
    dropped: 0,
    crowds: undefined,
    childrenBySpan: undefined,
  }
  const root = new OpenSpan(tree, undefined, name)
  if (links !== undefined && links.length > 0) root.links = [...links]
  if (attributes !== undefined) root.set(attributes)
  return root
}

/** How many the tree has. */
export function spansIn(root: SpanRecord): number {
  if (root instanceof OpenSpan) return root.spansInTree
  return root.children.reduce((sum, child) => sum + spansIn(child), 1)
}

interface RootStart {
  readonly attributes?: SpanAttributes | undefined
  readonly parent?: SpanContext | undefined
  readonly links?: readonly SpanLink[] | undefined
}

/** Shared by all that have none. */
const noLinks: SpanLink[] = []
const noChildren: readonly OpenSpan[] = []

/** As they were set: newer ones hide older ones. */
interface Given {
  readonly attributes: SpanAttributes
  readonly before: Given | undefined
}

/** Instead of a duration. */
const notEnded = -1

/**
 * Is its own record: nobody writes to it after it has ended. There are many of them in each sync, and most are never
 * looked at. So they are small, keep what they were given, and put ids, attributes and children together when somebody
 * does look.
 */
class OpenSpan implements Span, SpanRecord {
  readonly name: string
  links = noLinks
  declare error?: string
  readonly #tree: Tree
  readonly #parent: OpenSpan | undefined
  /** Where its times are. */
  readonly #at: number
  #context: SpanContext | undefined
  /** Most spans are given attributes once. */
  #first: SpanAttributes | undefined
  #given: Given | undefined
  #childCount = 0
  #openChildren = 0

  constructor(tree: Tree, parent: OpenSpan | undefined, name: string) {
    this.#tree = tree
    this.#parent = parent
    this.#at = 2 * tree.spans.length
    this.name = name
    tree.spans.push(this)
  }

  get isRecorded(): boolean {
    return this.durationMs === notEnded
  }

  get context(): SpanContext {
    return (this.#context ??= new LazyContext(this.#tree.parts.ids, this.#parent?.context ?? this.#tree.parent))
  }

  get parentSpanId(): string | undefined {
    return (this.#parent?.context ?? this.#tree.parent)?.spanId
  }

  get startMs(): number {
    return this.#tree.times[this.#at]! + this.#tree.wallOffsetMs
  }

  get durationMs(): number {
    return this.#tree.times[this.#at + 1]!
  }

  get attributes(): Readonly<Record<string, AttributeValue>> {
    const attributes: Record<string, AttributeValue> = {}
    if (this.#first !== undefined) addAttributes(attributes, this.#first)
    addGiven(attributes, this.#given)
    return attributes
  }

  get children(): readonly OpenSpan[] {
    const tree = this.#tree
    // A tree that still grows is looked at by nobody but tests.
    const isWhole = tree.spans[0]?.isRecorded === false
    const childrenBySpan = tree.childrenBySpan ?? OpenSpan.#childrenBySpan(tree.spans)
    if (isWhole) tree.childrenBySpan = childrenBySpan
    return childrenBySpan.get(this) ?? noChildren
  }

  get spansInTree(): number {
    return this.#tree.spans.length
  }

  toJSON(): SpanRecord {
    return plainRecord(this)
  }

  child(name: string, attributes?: SpanAttributes): Span {
    if (this.durationMs !== notEnded) return noSpan
    const tree = this.#tree
    if (!OpenSpan.#hasRoomFor(name, this)) {
      tree.dropped++
      return noSpan
    }
    tree.times.push(tree.parts.clock.monotonic(), notEnded)
    const child = new OpenSpan(tree, this, name)
    this.#childCount++
    this.#openChildren++
    child.#first = attributes
    return child
  }

  set(attributes: SpanAttributes): void {
    if (this.durationMs !== notEnded) return
    if (this.#first === undefined) this.#first = attributes
    else this.#given = { attributes, before: this.#given }
  }

  link(link: SpanLink): void {
    if (this.durationMs !== notEnded) return
    if (this.links === noLinks) this.links = [link]
    else this.links.push(link)
  }

  end(error?: unknown): void {
    if (this.durationMs !== notEnded) return
    const { parts, dropped } = this.#tree
    if (error !== undefined) {
      const { message, type } = failureOf(error)
      this.error = message
      this.set({ 'error.type': type })
    }
    const isRoot = this.#parent === undefined
    if (isRoot && dropped > 0) this.set({ 'spans.dropped': dropped })
    OpenSpan.#close(this, parts.clock.monotonic())
    if (!isRoot) return
    this.#tree.crowds = undefined
    parts.onFinished(this)
  }

  // Static, because each span would carry private methods with it.

  static #close(span: OpenSpan, at: number): void {
    if (span.#openChildren > 0)
      for (const child of span.#tree.spans)
        if (child.#parent === span && child.durationMs === notEnded) OpenSpan.#close(child, at)
    const { times } = span.#tree
    times[span.#at + 1] = at - times[span.#at]!
    if (span.#parent !== undefined) span.#parent.#openChildren--
  }

  static #hasRoomFor(name: string, parent: OpenSpan): boolean {
    const tree = parent.#tree
    const isDeep = parent.#parent !== undefined
    if (isDeep && tree.deep >= treeLimits.deep) return false
    if (parent.#childCount >= treeLimits.sameNamed && !OpenSpan.#countedIn(tree, parent, name)) return false
    if (isDeep) tree.deep++
    return true
  }

  /** False: there are enough of that name. */
  static #countedIn(tree: Tree, parent: OpenSpan, name: string): boolean {
    tree.crowds ??= new Map()
    let counts = tree.crowds.get(parent)
    if (counts === undefined) tree.crowds.set(parent, (counts = OpenSpan.#childrenByName(tree.spans, parent)))
    const sameNamed = counts.get(name) ?? 0
    if (sameNamed >= treeLimits.sameNamed) return false
    counts.set(name, sameNamed + 1)
    return true
  }

  static #childrenByName(spans: readonly OpenSpan[], parent: OpenSpan): Map<string, number> {
    const counts = new Map<string, number>()
    for (const span of spans) if (span.#parent === parent) counts.set(span.name, (counts.get(span.name) ?? 0) + 1)
    return counts
  }

  static #childrenBySpan(spans: readonly OpenSpan[]): ReadonlyMap<OpenSpan, readonly OpenSpan[]> {
    const childrenBySpan = new Map<OpenSpan, OpenSpan[]>()
    for (const span of spans) {
      if (span.#parent === undefined) continue
      const siblings = childrenBySpan.get(span.#parent)
      if (siblings === undefined) childrenBySpan.set(span.#parent, [span])
      else siblings.push(span)
    }
    return childrenBySpan
  }
}

function addGiven(to: Record<string, AttributeValue>, given: Given | undefined): void {
  if (given === undefined) return
  addGiven(to, given.before)
  addAttributes(to, given.attributes)
}
