/** One sync: what it did, how long each part took, and which events caused it. */
import type { ShownSync } from '../../../src/observe/tracing/shown-sync.ts'
import { askJson, useAsked } from '../../live/ask.ts'
import { duration, timeOfDay } from '../../parts/format.ts'
import { Problem } from '../../parts/problem.tsx'
import { Waterfall } from './waterfall-view.tsx'
import './syncs.css'

interface SyncsAnswer {
  readonly syncs: readonly ShownSync[]
}

export function SyncPage({ traceId }: { readonly traceId: string }) {
  const { answer } = useAsked(traceId, (signal) => askJson<SyncsAnswer>('syncs', { trace: traceId }, signal))
  const sync = answer?.ok === true ? answer.value.syncs[0] : undefined
  return (
    <>
      <p>
        <a href="/syncs">All syncs</a>
      </p>
      {answer === undefined && <p class="quiet">Asking.</p>}
      {answer?.ok === false && <Problem text={answer.problem} />}
      {sync !== undefined && <Sync sync={sync} />}
    </>
  )
}

function Sync({ sync }: { readonly sync: ShownSync }) {
  const { startedAt, durationMs, mode, family, trigger, error, trace } = sync
  return (
    <>
      <p>
        Began at {timeOfDay(startedAt, true)}, took <strong>{duration(durationMs)}</strong>, {mode},{' '}
        {family === 'ipv4' ? 'IPv4' : 'IPv6'}, because of: {trigger}
      </p>
      {error !== undefined && <Problem text={`It failed: ${error}`} />}
      <Waterfall root={trace} />
      <Events sync={sync} />
    </>
  )
}

function Events({ sync: { events, moreEvents } }: { readonly sync: ShownSync }) {
  return (
    <section class="card" aria-labelledby="events-of">
      <h2 id="events-of">
        Events that caused it <small class="quiet">{events.length + moreEvents}</small>
      </h2>
      {events.length === 0 ? (
        <p>No object changed: it ran because of its trigger alone.</p>
      ) : (
        <table class="as-cards">
          <thead>
            <tr>
              <th scope="col">Object</th>
              <th scope="col">Event</th>
              <th scope="col">Received</th>
              <th scope="col" class="num">
                Waited
              </th>
              <th scope="col">Version</th>
            </tr>
          </thead>
          <tbody>
            {events.map(({ object, event, receivedAt, waitedMs, resourceVersion }, index) => (
              <tr key={index}>
                <th scope="row" class="breaks">
                  <ObjectName object={object} />
                </th>
                <td data-label="Event">{event}</td>
                <td data-label="Received">{timeOfDay(receivedAt, true)}</td>
                <td data-label="Waited" class="num">
                  {duration(waitedMs)}
                </td>
                <td data-label="Version">{resourceVersion || <span class="quiet dash">–</span>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {moreEvents > 0 && <p class="quiet">and {moreEvents} more</p>}
    </section>
  )
}

function ObjectName({ object }: { readonly object: string }) {
  const key = /^Service ([^/ ]+\/[^/ ]+)$/.exec(object)?.[1]
  return key === undefined ? <>{object}</> : <a href={`/services/${key}`}>{object}</a>
}
