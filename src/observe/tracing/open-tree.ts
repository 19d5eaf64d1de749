/** A tree of spans while it grows. */
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
  /** Monotonic milliseconds. */
  readonly elapsed: () => number
  readonly onFinished: (root: SpanRecord) => void
}

interface Tree extends TreeParts {
  /** What to add to monotonic time to get wall-clock time: a clock that is set meanwhile moves no child out of the root. */
  readonly wallOffsetMs: number
  /** Of another process: the root belongs to that trace. */
  readonly parent: SpanContext | undefined
  deep: number
  dropped: number
}

export function openTree(
  parts: TreeParts,
  wallMs: number,
  name: string,
  { attributes, parent, links }: RootStart,
): Span {
  const startedAt = parts.elapsed()
  // By name: to spread the parts costs more than all else that a root does.
  const tree: Tree = {
    ids: parts.ids,
    elapsed: parts.elapsed,
    onFinished: parts.onFinished,
    wallOffsetMs: wallMs - startedAt,
    parent,
    deep: 0,
    dropped: 0,
  }
  const root = new OpenSpan(tree, undefined, name, startedAt)
  if (links !== undefined && links.length > 0) root.links = [...links]
  if (attributes !== undefined) root.set(attributes)
  return root
}

interface RootStart {
  readonly attributes?: SpanAttributes | undefined
  readonly parent?: SpanContext | undefined
  readonly links?: readonly SpanLink[] | undefined
}

/** Shared by all that have none. */
const noLinks: SpanLink[] = []
const noChildren: OpenSpan[] = []
const noAttributes: SpanAttributes[] = []

/**
 * Is its own record: nobody writes to it after it has ended, and there are many of them. Most are never looked at, so
 * ids and attributes are put together when somebody does.
 */
class OpenSpan implements Span, SpanRecord {
  readonly name: string
  links = noLinks
  durationMs = 0
  declare error?: string
  children = noChildren
  readonly #tree: Tree
  readonly #parent: OpenSpan | undefined
  readonly #startedAt: number
  #context: SpanContext | undefined
  /** As they were set, the last ones last. */
  #given = noAttributes
  /** Only where there are so many that it matters. */
  #childrenByName: Map<string, number> | undefined
  #hasEnded = false

  constructor(tree: Tree, parent: OpenSpan | undefined, name: string, startedAt: number) {
    this.#tree = tree
    this.#parent = parent
    this.#startedAt = startedAt
    this.name = name
  }

  get isRecorded(): boolean {
    return !this.#hasEnded
  }

  get context(): SpanContext {
    return (this.#context ??= new LazyContext(this.#tree.ids, this.#parent?.context ?? this.#tree.parent))
  }

  get parentSpanId(): string | undefined {
    return (this.#parent?.context ?? this.#tree.parent)?.spanId
  }

  get startMs(): number {
    return this.#startedAt + this.#tree.wallOffsetMs
  }

  get attributes(): Readonly<Record<string, AttributeValue>> {
    const attributes: Record<string, AttributeValue> = {}
    for (const given of this.#given) addAttributes(attributes, given)
    return attributes
  }

  toJSON(): SpanRecord {
    return plainRecord(this)
  }

  child(name: string, attributes?: SpanAttributes): Span {
    if (this.#hasEnded) return noSpan
    if (!this.#hasRoomFor(name)) {
      this.#tree.dropped++
      return noSpan
    }
    const child = new OpenSpan(this.#tree, this, name, this.#tree.elapsed())
    if (attributes !== undefined) child.#given = [attributes]
    if (this.children === noChildren) this.children = [child]
    else this.children.push(child)
    return child
  }

  set(attributes: SpanAttributes): void {
    if (this.#hasEnded) return
    if (this.#given === noAttributes) this.#given = [attributes]
    else this.#given.push(attributes)
  }

  link(link: SpanLink): void {
    if (this.#hasEnded) return
    if (this.links === noLinks) this.links = [link]
    else this.links.push(link)
  }

  end(error?: unknown): void {
    if (this.#hasEnded) return
    this.#close(this.#tree.elapsed(), error)
    if (this.#parent === undefined) this.#tree.onFinished(this)
  }

  #close(at: number, error?: unknown): void {
    for (const child of this.children) if (!child.#hasEnded) child.#close(at)
    this.durationMs = at - this.#startedAt
    if (error !== undefined) {
      const { message, type } = failureOf(error)
      this.error = message
      this.set({ 'error.type': type })
    }
    if (this.#parent === undefined && this.#tree.dropped > 0) this.set({ 'spans.dropped': this.#tree.dropped })
    this.#hasEnded = true
  }

  #hasRoomFor(name: string): boolean {
    if (this.#parent !== undefined && this.#tree.deep >= treeLimits.deep) return false
    if (this.children.length >= treeLimits.sameNamed) {
      this.#childrenByName ??= countedByName(this.children)
      const sameNamed = this.#childrenByName.get(name) ?? 0
      if (sameNamed >= treeLimits.sameNamed) return false
      this.#childrenByName.set(name, sameNamed + 1)
    }
    if (this.#parent !== undefined) this.#tree.deep++
    return true
  }
}

function countedByName(spans: readonly OpenSpan[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { name } of spans) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
