/** How the proxy does, at a glance. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Overview } from '../../../src/observe/console/wire.ts'
import { about, follow } from '../../live/live.ts'
import { eventRates, overview, shownMs } from '../../live/overview.ts'
import { Chart } from '../../parts/chart.tsx'
import { familyName } from '../../parts/family-name.ts'
import { duration, rate } from '../../parts/format.ts'
import { Problems } from './problems.tsx'
import { familiesIn, latencies, withSyncs } from './sync-history.ts'
import type { SyncAt } from './sync-history.ts'
import { SyncTable } from './sync-table.tsx'
import { Tiles } from './tiles.tsx'
import './overview.css'

/** Kept when the reader goes elsewhere and comes back, as long as the process is the same. */
let kept: { readonly process: string | undefined; readonly syncs: readonly SyncAt[] } = {
  process: undefined,
  syncs: [],
}

export function OverviewPage() {
  const syncs = useSignal<readonly SyncAt[]>(kept.syncs)
  useEffect(
    () =>
      follow('syncs', 'syncs', (change) => {
        const process = about.peek()?.process
        const known = kept.process === process ? kept.syncs : []
        kept = { process, syncs: withSyncs(known, change) }
        syncs.value = kept.syncs
      }),
    [syncs],
  )
  const known = overview.value
  if (known === undefined) return <p class="quiet">Waiting for the first numbers.</p>
  return (
    <div class="overview">
      <Tiles overview={known} />
      <Problems problems={known.problems} without={known.counts.servicesWithoutEndpoints} at={known.at} />
      <EventChart overview={known} />
      <LatencyChart overview={known} syncs={syncs.value} />
      <SyncTable families={known.syncs} syncs={syncs.value} at={known.at} />
    </div>
  )
}

function EventChart({ overview: { at } }: { readonly overview: Overview }) {
  const { rates } = eventRates
  const to = Date.parse(at) / 1_000
  return (
    <Chart
      title="Events per second"
      lines={[{ name: 'Events', colour: 'series-1' }]}
      data={[rates.map(({ atMs }) => atMs / 1_000), rates.map(({ perSecond }) => perSecond)]}
      from={to - shownMs / 1_000}
      to={to}
      format={rate}
      leastTop={4}
    />
  )
}

function LatencyChart({ overview: { at }, syncs }: { readonly overview: Overview; readonly syncs: readonly SyncAt[] }) {
  const to = Date.parse(at) / 1_000
  const families = familiesIn(syncs)
  return (
    <Chart
      title="Sync latency"
      lines={families.map((name, index) => ({ name: familyName(name), colour: `series-${(index % 3) + 1}` }))}
      data={latencies(syncs, families, Date.parse(at) - shownMs)}
      from={to - shownMs / 1_000}
      to={to}
      format={duration}
      leastTop={4}
      isDotted
    />
  )
}
