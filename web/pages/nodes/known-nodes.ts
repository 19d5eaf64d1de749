/** The nodes that follow a core, as they are told, and in the order in which somebody wants to see them. */
import type { NodeRow, NodesChange } from '../../../src/observe/console/wire.ts'

export interface KnownNodes {
  readonly revision: number
  readonly rows: ReadonlyMap<string, NodeRow>
}

export function withChange(known: KnownNodes | undefined, { isFirst, revision, rows, gone }: NodesChange): KnownNodes {
  const all = new Map(isFirst === true ? [] : known?.rows)
  for (const key of gone ?? []) all.delete(key)
  for (const row of rows) all.set(row.key, row)
  return { revision, rows: all }
}

export type NodeState = 'gone' | 'behind' | 'up to date'

/** Less than this is the time that a change takes on its way. */
const behindAfterMs = 2_000

export function stateOf({ isConnected, lagMs = 0 }: NodeRow): NodeState {
  if (!isConnected) return 'gone'
  return lagMs >= behindAfterMs ? 'behind' : 'up to date'
}

export interface NodeCounts {
  readonly connected: number
  readonly behind: number
  readonly gone: number
}

export function countsOf(rows: Iterable<NodeRow>): NodeCounts {
  let [connected, behind, gone] = [0, 0, 0]
  for (const row of rows) {
    if (row.isConnected) connected++
    else gone++
    if (stateOf(row) === 'behind') behind++
  }
  return { connected, behind, gone }
}

/** What needs a look comes first. */
export function shownNodes(rows: Iterable<NodeRow>, search: string): readonly NodeRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const matching = [...rows].filter(({ node, peer, mode = '', program = '' }) => {
    const text = `${node} ${peer} ${mode} ${program}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
  return matching.sort((a, b) => weight(b) - weight(a) || (b.lagMs ?? 0) - (a.lagMs ?? 0) || (a.node < b.node ? -1 : 1))
}

function weight(row: NodeRow): number {
  const order: readonly NodeState[] = ['up to date', 'behind', 'gone']
  return order.indexOf(stateOf(row))
}
