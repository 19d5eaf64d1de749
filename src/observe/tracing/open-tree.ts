/** A tree of spans while it grows. */
import { noSpan } from '../../core/trace.ts'
import type { AttributeValue, Span, SpanAttributes, SpanContext, SpanLink, SpanRecord } from '../../core/trace.ts'
import { addAttributes, failureOf } from './attributes.ts'
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

type OpenRecord = {
  -readonly [K in keyof Omit<SpanRecord, 'attributes' | 'children' | 'links'>]: SpanRecord[K]
} & {
  readonly attributes: Record<string, AttributeValue>
  readonly children: OpenRecord[]
  readonly links: SpanLink[]
}

interface Tree extends TreeParts {
  /** What to add to monotonic time to get wall-clock time: a clock that is set meanwhile moves no child out of the root. */
  readonly wallOffsetMs: number
  readonly traceId: string
  deep: number
  dropped: number
}

export function openTree(
  parts: TreeParts,
  wallMs: number,
  name: string,
  { attributes, parent, links = [] }: RootStart,
): Span {
  const startedAt = parts.elapsed()
  // By name: to spread the parts costs more than all else that a root does.
  const tree: Tree = {
    ids: parts.ids,
    elapsed: parts.elapsed,
    onFinished: parts.onFinished,
    wallOffsetMs: wallMs - startedAt,
    traceId: parent?.traceId ?? parts.ids.traceId(),
    deep: 0,
    dropped: 0,
  }
  const root = new OpenSpan(tree, undefined, name, startedAt, attributes)
  if (parent !== undefined) root.record.parentSpanId = parent.spanId
  root.record.links.push(...links)
  return root
}

interface RootStart {
  readonly attributes?: SpanAttributes | undefined
  readonly parent?: SpanContext | undefined
  readonly links?: readonly SpanLink[] | undefined
}

class OpenSpan implements Span {
  readonly record: OpenRecord
  readonly #tree: Tree
  readonly #parent: OpenSpan | undefined
  readonly #startedAt: number
  /** Those that have not ended. */
  #open: Set<OpenSpan> | undefined
  #childrenByName: Map<string, number> | undefined
  #hasEnded = false

  constructor(tree: Tree, parent: OpenSpan | undefined, name: string, startedAt: number, attributes?: SpanAttributes) {
    this.#tree = tree
    this.#parent = parent
    this.#startedAt = startedAt
    this.record = {
      name,
      context: { traceId: tree.traceId, spanId: tree.ids.spanId() },
      links: [],
      startMs: startedAt + tree.wallOffsetMs,
      durationMs: 0,
      attributes: {},
      children: [],
    }
    if (parent !== undefined) this.record.parentSpanId = parent.context.spanId
    if (attributes !== undefined) this.set(attributes)
  }

  get context(): SpanContext {
    return this.record.context
  }

  child(name: string, attributes?: SpanAttributes): Span {
    if (this.#hasEnded) return noSpan
    if (!this.#hasRoomFor(name)) {
      this.#tree.dropped++
      return noSpan
    }
    const child = new OpenSpan(this.#tree, this, name, this.#tree.elapsed(), attributes)
    this.record.children.push(child.record)
    this.#open ??= new Set()
    this.#open.add(child)
    return child
  }

  set(attributes: SpanAttributes): void {
    if (!this.#hasEnded) addAttributes(this.record.attributes, attributes)
  }

  link(link: SpanLink): void {
    if (!this.#hasEnded) this.record.links.push(link)
  }

  end(error?: unknown): void {
    if (this.#hasEnded) return
    this.#close(this.#tree.elapsed(), error)
    if (this.#parent === undefined) this.#tree.onFinished(this.record)
    else this.#parent.#open?.delete(this)
  }

  #close(at: number, error?: unknown): void {
    for (const child of this.#open ?? []) child.#close(at)
    this.#open = undefined
    this.record.durationMs = at - this.#startedAt
    if (error !== undefined) {
      const { message, type } = failureOf(error)
      this.record.error = message
      this.set({ 'error.type': type })
    }
    if (this.#parent === undefined && this.#tree.dropped > 0) this.set({ 'spans.dropped': this.#tree.dropped })
    this.#hasEnded = true
  }

  #hasRoomFor(name: string): boolean {
    this.#childrenByName ??= new Map()
    const sameNamed = (this.#childrenByName.get(name) ?? 0) + 1
    if (sameNamed > treeLimits.sameNamed) return false
    if (this.#parent !== undefined && this.#tree.deep >= treeLimits.deep) return false
    this.#childrenByName.set(name, sameNamed)
    if (this.#parent !== undefined) this.#tree.deep++
    return true
  }
}
