/** The last syncs that programmed a Service, and how long its endpoints stayed in use after they were gone. */
import { askJson, debugUrl, useAsked } from '../../live/ask.ts'
import { ago, count, duration, timeOfDay } from '../../parts/format.ts'
import { Problem } from '../../parts/problem.tsx'

/** What this page needs of `/debug/services/NAMESPACE/NAME`. */
interface ServiceAnswer {
  readonly lastSyncs?: readonly {
    readonly family: string
    readonly at: string
    readonly full: boolean
    readonly causes: readonly string[]
  }[]
  readonly timeToSafety?: {
    readonly seconds: number
    readonly endpoint: string
    readonly at: string
    readonly removals: number
    readonly measuredFrom: 'change' | 'arrival'
  }
  readonly uncounted?: readonly string[]
}

export function ServiceHistory({ service }: { readonly service: string }) {
  const page = `services/${service.split('/').map(encodeURIComponent).join('/')}`
  const { answer, isUnderWay, again } = useAsked(service, (signal) => askJson<ServiceAnswer>(page, {}, signal))
  return (
    <section class="card" aria-labelledby="history-of">
      <h2 id="history-of">When it was programmed</h2>
      {answer === undefined && <p class="quiet">Asking.</p>}
      {answer?.ok === false && <Problem text={answer.problem} />}
      {answer?.ok === true && <History {...answer.value} />}
      <p class="bar small">
        <button class="button" type="button" disabled={isUnderWay} onClick={again}>
          Ask again
        </button>
        <a href={debugUrl(page)} target="_blank" rel="noreferrer">
          All that is known, as JSON
        </a>
      </p>
    </section>
  )
}

function History({ lastSyncs = [], timeToSafety, uncounted = [] }: ServiceAnswer) {
  const nowMs = Date.now()
  return (
    <dl class="facts">
      {lastSyncs.map(({ family, at, full, causes }) => (
        <div key={family}>
          <dt>Last sync, {family === 'ipv4' ? 'IPv4' : 'IPv6'}</dt>
          <dd>
            <a href={`/syncs?family=${family}`}>{timeOfDay(at)}</a>, {ago(at, nowMs)}
            {full ? ', everything' : ''}
            {causes.length > 0 && `: ${causes.join(', ')}`}
          </dd>
        </div>
      ))}
      <div>
        <dt>Time to safety</dt>
        <dd>
          {timeToSafety === undefined
            ? 'no endpoint was removed since the start'
            : `${duration(timeToSafety.seconds * 1000)} for ${timeToSafety.endpoint}, ${ago(timeToSafety.at, nowMs)}; ${count(timeToSafety.removals, 'removal')} since the start`}
        </dd>
      </div>
      {uncounted.map((text) => (
        <div key={text}>
          <dt>Not counted</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  )
}
