/** `nodes`: the clients of a core, then what changes about them. One change reaches all nodes, so it is told seldom. */
import type { LiveTopic, Viewer } from '../live-topic.ts'
import type { NodeRow, NodesChange } from '../wire.ts'
import { beatMs } from './beat.ts'
import type { Beat } from './beat.ts'

export interface NodesTopicOptions {
  readonly beat: Beat
  readonly rows: () => readonly NodeRow[]
  readonly revision: () => number
}

const everyBeats = Math.ceil(1_000 / beatMs)

export class NodesTopic implements LiveTopic {
  readonly name = 'nodes'
  readonly #options: NodesTopicOptions
  readonly #viewers = new Set<Viewer>()
  /** They get the whole list when they are ready for it. */
  readonly #without = new Set<Viewer>()
  /** What all others have, by key. */
  #rowByKey = new Map<string, NodeRow>()
  #beats = 0
  #endBeat: (() => void) | undefined

  constructor(options: NodesTopicOptions) {
    this.#options = options
  }

  follow(_rest: readonly string[], viewer: Viewer): Disposable {
    this.#viewers.add(viewer)
    this.#without.add(viewer)
    this.#endBeat ??= this.#options.beat.subscribe(() => {
      if (++this.#beats % everyBeats === 0) this.#send()
    })
    this.#send()
    return {
      [Symbol.dispose]: () => {
        this.#without.delete(viewer)
        if (!this.#viewers.delete(viewer) || this.#viewers.size > 0) return
        this.#endBeat?.()
        this.#endBeat = undefined
        this.#rowByKey = new Map()
      },
    }
  }

  #send(): void {
    const revision = this.#options.revision()
    const before = this.#rowByKey
    const all = this.#options.rows()
    this.#rowByKey = new Map(all.map((row) => [row.key, row]))
    const rows = all.filter((row) => !isSame(before.get(row.key), row))
    const gone = [...before.keys()].filter((key) => !this.#rowByKey.has(key))
    const change: NodesChange = { revision, rows, ...(gone.length > 0 && { gone }) }
    let [changed, whole]: (string | undefined)[] = []
    for (const viewer of this.#viewers) {
      if (viewer.isBehind) this.#without.add(viewer)
      else if (this.#without.delete(viewer))
        viewer.sendText(
          'nodes',
          (whole ??= JSON.stringify({ isFirst: true, revision, rows: all } satisfies NodesChange)),
        )
      else if (rows.length + gone.length > 0) viewer.sendText('nodes', (changed ??= JSON.stringify(change)))
    }
  }
}

function isSame(a: NodeRow | undefined, b: NodeRow): boolean {
  return (
    a !== undefined &&
    a.revision === b.revision &&
    a.lastContact === b.lastContact &&
    a.isConnected === b.isConnected &&
    a.lagMs === b.lagMs &&
    a.node === b.node
  )
}
