/** The nodes that follow a core: who is there, who lags behind, and who has left. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { NodeRow } from '../../../src/observe/console/wire.ts'
import { follow } from '../../live/live.ts'
import { Empty } from '../../parts/empty.tsx'
import { ago, count, duration, timeOfDay } from '../../parts/format.ts'
import { useNow } from '../../parts/use-now.ts'
import { location, replace } from '../../shell/route.ts'
import { countsOf, shownNodes, stateOf, withChange } from './known-nodes.ts'
import type { KnownNodes, NodeState } from './known-nodes.ts'
import './nodes.css'

/** Who looks for one of more than these, searches. */
const mostRows = 300

export function NodesPage() {
  const nowMs = useNow()
  const known = useSignal<KnownNodes | undefined>(undefined)
  useEffect(() => follow('nodes', 'nodes', (change) => (known.value = withChange(known.value, change))), [known])
  if (known.value === undefined) return <p class="quiet">Waiting for the list.</p>
  const { rows, revision } = known.value
  if (rows.size === 0)
    return (
      <Empty icon="nodes">
        <p>No node follows this core yet. On a node: fairlead api to-nftables --api=HOST:PORT</p>
      </Empty>
    )
  const search = location.value.searchParams.get('q') ?? ''
  const shown = shownNodes(rows.values(), search)
  const { connected, behind, gone } = countsOf(rows.values())
  return (
    <>
      <p role="status">
        {count(connected, 'node')} connected, {behind} behind, {gone} gone within the last hour. The state is at
        revision {revision}.
      </p>
      <p>
        <label>
          <span class="visually-hidden">Search nodes</span>
          <input
            class="field nodes-search"
            type="search"
            value={search}
            placeholder="Name, address, mode"
            onInput={({ currentTarget: { value } }) =>
              replace(value === '' ? '/nodes' : `/nodes?q=${encodeURIComponent(value)}`)
            }
          />
        </label>
      </p>
      <NodesTable nodes={shown.slice(0, mostRows)} nowMs={nowMs} />
      {shown.length > mostRows && <p class="quiet small">And {shown.length - mostRows} more: search for them.</p>}
    </>
  )
}

const toneOf: Readonly<Record<NodeState, string>> = { gone: 'bad', behind: 'warn', 'up to date': 'good' }

function NodesTable({ nodes, nowMs }: { readonly nodes: readonly NodeRow[]; readonly nowMs: number }) {
  return (
    <section class="card" aria-label="Nodes">
      <table class="as-cards">
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">State</th>
            <th scope="col">Mode</th>
            <th scope="col">Program</th>
            <th scope="col">Address</th>
            <th scope="col">Last contact</th>
            <th scope="col">Since</th>
          </tr>
        </thead>
        <tbody>
          {nodes.map((node) => (
            <Row key={node.key} node={node} nowMs={nowMs} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Row({ node, nowMs }: { readonly node: NodeRow; readonly nowMs: number }) {
  const state = stateOf(node)
  const lag = state === 'behind' ? ` by ${duration(node.lagMs ?? 0)}` : ''
  return (
    <tr>
      <th scope="row" class="breaks">
        {node.node}
      </th>
      <td data-label="State">
        <span class="badge" data-tone={toneOf[state]}>
          {state}
          {lag}
        </span>
      </td>
      <td data-label="Mode">{node.mode ?? 'not told'}</td>
      <td data-label="Program">{node.program ?? 'not told'}</td>
      <td data-label="Address">{node.peer === '' ? 'this machine' : node.peer}</td>
      <td data-label="Last contact">
        <time dateTime={node.lastContact}>{ago(node.lastContact, nowMs)}</time>
      </td>
      <td data-label="Since">
        <time dateTime={node.connectedAt}>{timeOfDay(node.connectedAt)}</time>
      </td>
    </tr>
  )
}
