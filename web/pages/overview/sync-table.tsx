/** What the syncs of each family did, and how long the last ones took. */
import type { FamilySyncs } from '../../../src/observe/console/wire.ts'
import { about } from '../../live/live.ts'
import { familyName } from '../../parts/family-name.ts'
import { ago, count, duration, wholeNumber } from '../../parts/format.ts'
import { Bars } from '../../parts/bars.tsx'
import { summaryOf } from './sync-history.ts'
import type { SyncAt } from './sync-history.ts'

interface SyncTableProps {
  readonly families: readonly FamilySyncs[]
  readonly syncs: readonly SyncAt[]
  readonly at: string
}

const lately = 60

export function SyncTable({ families, syncs, at }: SyncTableProps) {
  return (
    <section class="card sync-table" aria-labelledby="syncs-title">
      <div class="chart-head">
        <h2 id="syncs-title">Syncs</h2>
        {about.value?.topics.includes('syncs') === true && <a href="/syncs">All of them</a>}
      </div>
      <table class="as-cards">
        <thead>
          <tr>
            <th scope="col">Family</th>
            <th scope="col" class="num">
              Since start
            </th>
            <th scope="col" class="num">
              Failed
            </th>
            <th scope="col" class="num">
              Waiting
            </th>
            <th scope="col" class="num">
              Last
            </th>
            <th scope="col">When</th>
            <th scope="col">Lately</th>
          </tr>
        </thead>
        <tbody>
          {families.map((family) => (
            <FamilyRow key={family.family} {...family} syncs={syncs} at={at} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

function FamilyRow({
  family,
  count: done,
  failures,
  pending,
  lastMs,
  lastAt,
  syncs,
  at,
}: FamilySyncs & Pick<SyncTableProps, 'syncs' | 'at'>) {
  const last = syncs.filter((sync) => sync.family === family || sync.family === familyName(family)).slice(-lately)
  return (
    <tr>
      <th scope="row">{familyName(family)}</th>
      <td class="num" data-label="Since start">
        {wholeNumber(done)}
      </td>
      <td class="num" data-label="Failed" data-tone={failures > 0 ? 'bad' : undefined}>
        {wholeNumber(failures)}
      </td>
      <td class="num" data-label="Waiting">
        {count(pending, 'route')}
      </td>
      <td class="num" data-label="Last">
        {lastMs === undefined ? <span class="dash">–</span> : duration(lastMs)}
      </td>
      <td data-label="When">{lastAt === undefined ? <span class="dash">–</span> : ago(lastAt, Date.parse(at))}</td>
      <td class="lately">
        <Lately syncs={last} />
      </td>
    </tr>
  )
}

function Lately({ syncs }: { readonly syncs: readonly SyncAt[] }) {
  const summary = summaryOf(syncs)
  if (summary === undefined) return <span class="quiet">none yet</span>
  return (
    <>
      <Bars
        bars={syncs.map(({ durationMs, error }) => ({ value: durationMs, isBad: error !== undefined }))}
        room={lately}
      />
      <span class="quiet small">
        <span class="nowrap">median {duration(summary.medianMs)},</span>{' '}
        <span class="nowrap">slowest {duration(summary.slowestMs)}</span>
        {summary.failures > 0 && `, ${wholeNumber(summary.failures)} failed`}
      </span>
    </>
  )
}
