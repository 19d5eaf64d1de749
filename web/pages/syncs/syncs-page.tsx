/** The last syncs, alive: when each ran, how long it took, and why it ran. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { SyncInShort } from '../../../src/observe/console/wire.ts'
import { about, follow } from '../../live/live.ts'
import { Choice } from '../../parts/choice.tsx'
import { count, duration, timeOfDay } from '../../parts/format.ts'
import { location, replace } from '../../shell/route.ts'
import { shownSyncs, withChange } from './known-syncs.ts'
import type { Order } from './known-syncs.ts'
import './syncs.css'

export function SyncsPage() {
  const known = useSignal<readonly SyncInShort[] | undefined>(undefined)
  useEffect(() => follow('syncs', 'syncs', (change) => (known.value = withChange(known.value ?? [], change))), [known])
  const { searchParams } = location.value
  const family = searchParams.get('family') ?? ''
  const order: Order = searchParams.get('order') === 'slowest' ? 'slowest' : 'newest'
  const show = (name: string, value: string) => {
    const query = new URLSearchParams(searchParams)
    if (value === '' || value === 'newest') query.delete(name)
    else query.set(name, value)
    const text = query.toString()
    replace(text === '' ? '/syncs' : `/syncs?${text}`)
  }
  const families = about.value?.families ?? []
  const syncs = known.value && shownSyncs(known.value, { family, order })
  return (
    <>
      <div class="bar">
        {families.length > 1 && (
          <Choice
            legend="Family"
            name="family"
            options={[
              { value: '', label: 'both' },
              { value: 'ipv4', label: 'IPv4' },
              { value: 'ipv6', label: 'IPv6' },
            ]}
            value={family}
            onChoose={(value) => show('family', value)}
          />
        )}
        <Choice
          legend="First"
          name="order"
          options={[
            { value: 'newest', label: 'newest' },
            { value: 'slowest', label: 'slowest' },
          ]}
          value={order}
          onChoose={(value) => show('order', value)}
        />
      </div>
      {syncs === undefined ? (
        <p class="quiet">Waiting for the list.</p>
      ) : syncs.length === 0 ? (
        <p>Nothing has been programmed yet.</p>
      ) : (
        <SyncsTable syncs={syncs} />
      )}
    </>
  )
}

function SyncsTable({ syncs }: { readonly syncs: readonly SyncInShort[] }) {
  const longest = Math.max(...syncs.map(({ durationMs }) => durationMs))
  return (
    <section class="card" aria-label="Syncs">
      <table class="as-cards syncs">
        <thead>
          <tr>
            <th scope="col">Began</th>
            <th scope="col">Took</th>
            <th scope="col">Family</th>
            <th scope="col">Because of</th>
            <th scope="col" class="num">
              Events
            </th>
            <th scope="col">Result</th>
          </tr>
        </thead>
        <tbody>
          {syncs.map(({ traceId, startedAt, durationMs, family, trigger, events, error }) => (
            <tr key={traceId}>
              <th scope="row">
                <a href={`/syncs/${traceId}`}>{timeOfDay(startedAt, true)}</a>
              </th>
              <td data-label="Took" class="sync-took">
                <span class="sync-bar" aria-hidden="true">
                  <i
                    style={{ width: `${Math.max(1, (durationMs / longest) * 100)}%` }}
                    data-bad={error !== undefined}
                  />
                </span>
                {duration(durationMs)}
              </td>
              <td data-label="Family">{family === 'ipv4' ? 'IPv4' : family === 'ipv6' ? 'IPv6' : family}</td>
              <td data-label="Because of">{trigger}</td>
              <td data-label="Events" class="num">
                {events}
              </td>
              <td data-label="Result" class="breaks">
                {error === undefined ? 'programmed' : <strong class="sync-failed">failed: {error}</strong>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="quiet small">{count(syncs.length, 'sync')}</p>
    </section>
  )
}
