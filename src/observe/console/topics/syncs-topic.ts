/** `syncs`: the last ones, then each new one. */
import type { AttributeValue, SpanRecord } from '../../../core/trace.ts'
import type { LiveTopic, Viewer } from '../live-topic.ts'
import type { SyncInShort } from '../wire.ts'
import type { Beat } from './beat.ts'
import type { NodeParts } from './node-parts.ts'

export interface SyncsTopicOptions extends Pick<NodeParts, 'history'> {
  readonly beat: Beat
}

/** Of somebody who was sent nothing yet. */
const nothing = Symbol('nothing')

export class SyncsTopic implements LiveTopic {
  readonly name = 'syncs'
  readonly #options: SyncsTopicOptions
  /** With the trace of the newest sync that each was sent; undefined: there was none. */
  readonly #newestOf = new Map<Viewer, string | undefined | typeof nothing>()
  #endBeat: (() => void) | undefined

  constructor(options: SyncsTopicOptions) {
    this.#options = options
  }

  follow(_rest: readonly string[], viewer: Viewer): Disposable {
    this.#newestOf.set(viewer, nothing)
    this.#endBeat ??= this.#options.beat.subscribe(() => this.#send())
    this.#send()
    return {
      [Symbol.dispose]: () => {
        if (!this.#newestOf.delete(viewer) || this.#newestOf.size > 0) return
        this.#endBeat?.()
        this.#endBeat = undefined
      },
    }
  }

  #send(): void {
    const { last } = this.#options.history
    const newest = last[0]?.context.traceId
    const textSince = new Map<unknown, string>()
    for (const [viewer, seen] of this.#newestOf) {
      if (seen === newest || viewer.isBehind) continue
      const text = textSince.get(seen) ?? changeSince(seen, last)
      textSince.set(seen, text)
      this.#newestOf.set(viewer, newest)
      viewer.sendText('syncs', text)
    }
  }
}

/** The whole list where the last one that was seen is no longer in it. */
function changeSince(seen: string | undefined | typeof nothing, last: readonly SpanRecord[]): string {
  const known = last.findIndex(({ context }) => context.traceId === seen)
  const syncs = (known === -1 ? last : last.slice(0, known)).map(syncInShort).reverse()
  return JSON.stringify(known === -1 ? { isFirst: true, syncs } : { syncs })
}

function syncInShort(root: SpanRecord): SyncInShort {
  const { context, startMs, durationMs, attributes, links, error } = root
  return {
    traceId: context.traceId,
    startedAt: new Date(startMs).toISOString(),
    durationMs: Math.round(durationMs * 1000) / 1000,
    family: text(attributes['network.type']),
    trigger: text(attributes['trigger']),
    events: links.length + Number(attributes['events.more'] ?? 0),
    ...(error !== undefined && { error }),
  }
}

function text(value: AttributeValue | undefined): string {
  return value === undefined ? '' : String(value)
}
