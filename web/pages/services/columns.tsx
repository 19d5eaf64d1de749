/** What stands in each column of a Service. */
import type { ComponentChildren } from 'preact'
import type { PortInShort, ServiceRow } from '../../../src/observe/console/wire.ts'
import { bytes, shortNumber } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import type { Column } from './question.ts'
import type { Entry } from './service-list.ts'

export const columnTitles: Readonly<Record<Column, string>> = {
  name: 'Name',
  namespace: 'Namespace',
  type: 'Type',
  ip: 'Cluster IP',
  ports: 'Ports',
  endpoints: 'Endpoints',
  rate: 'Conn/s',
  bytes: 'Bytes/s',
  notes: 'Notes',
}

export function cellOf(column: Column, row: ServiceRow, { name, namespace }: Entry): ComponentChildren {
  switch (column) {
    case 'name':
      return (
        <a href={`/services/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`} tabIndex={-1} title={name}>
          <bdi>{name}</bdi>
        </a>
      )
    case 'namespace':
      return <bdi title={namespace}>{namespace}</bdi>
    case 'type':
      return row.type
    case 'ip':
      return firstOf([...row.clusterIPs, ...(row.external ?? [])])
    case 'ports':
      return firstPorts(row.ports)
    case 'endpoints':
      return <Endpoints row={row} />
    case 'rate':
      return row.traffic?.connectionRate === undefined ? <None /> : quietZero(row.traffic.connectionRate, shortNumber)
    case 'bytes':
      return row.traffic?.byteRate === undefined ? <None /> : quietZero(row.traffic.byteRate, bytes)
    case 'notes':
      return <Notes row={row} />
    default:
      return column satisfies never
  }
}

function None() {
  return (
    <span class="quiet unknown">
      <span aria-hidden="true">–</span>
      <span class="visually-hidden">not known</span>
    </span>
  )
}

function quietZero(value: number, format: (value: number) => string): ComponentChildren {
  return value === 0 ? <span class="quiet">0</span> : format(value)
}

function firstOf(ips: readonly string[]): ComponentChildren {
  const [first, ...others] = ips
  if (first === undefined) return <span class="quiet">none</span>
  return (
    <span title={ips.join('\n')}>
      {first}
      {others.length > 0 && <span class="quiet"> +{others.length}</span>}
    </span>
  )
}

function firstPorts(ports: readonly PortInShort[]): ComponentChildren {
  const texts = ports.map(({ port, protocol }) => (protocol === 'TCP' ? `${port}` : `${port}/${protocol}`))
  const all = ports.map(
    ({ name, port, protocol, nodePort }) =>
      `${name === undefined ? '' : `${name}: `}${port}/${protocol}${nodePort === undefined ? '' : `, node port ${nodePort}`}`,
  )
  return <span title={all.join('\n')}>{texts.join(', ')}</span>
}

function Endpoints({ row: { endpoints } }: { readonly row: ServiceRow }) {
  const { total, ready, used } = endpoints
  const state = ready === 0 ? 'none' : ready < total ? 'some' : undefined
  return (
    <span
      class="endpoints"
      data-state={state}
      title={`${total} in the slices, ${ready} ready, ${used} used by this node`}
    >
      {ready}
      <span class="quiet">/{total}</span>
    </span>
  )
}

function Notes({ row: { problem, policies = [] } }: { readonly row: ServiceRow }) {
  if (problem !== undefined)
    return (
      <span class="row-problem" title={problem}>
        <Icon name="warning" />
        <span class="cut">{problem}</span>
      </span>
    )
  return policies.map((policy) => (
    <span key={policy} class="badge">
      {policy}
    </span>
  ))
}
