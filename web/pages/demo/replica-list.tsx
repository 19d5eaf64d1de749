/** The replicas of a Service, how they do, and what can be done to each. */
import type { DemoReplica, DemoService, EndpointDetail } from '../../../src/observe/console/wire.ts'
import { count, percent } from '../../parts/format.ts'
import { MarkIcon } from '../../parts/picture/mark.tsx'
import { ActionButton } from './action-button.tsx'
import type { ActionButtonProps } from './action-button.tsx'
import { colourOf, numberOf } from './replica-colour.ts'

interface ReplicaListProps extends Pick<ActionButtonProps, 'onPoint' | 'onProblem'> {
  readonly service: DemoService
  /** What the proxy knows of them. */
  readonly endpoints: readonly EndpointDetail[]
}

export function ReplicaList({ service, endpoints, ...on }: ReplicaListProps) {
  const { replicas, key } = service
  if (replicas.length === 0) return <p class="demo-nobody quiet">No replica: nobody can answer.</p>
  return (
    <ul class="demo-replicas" aria-label={`Replicas of ${key}`}>
      {replicas.map((replica) => (
        <li key={replica.name} data-state={replica.state}>
          <span class="demo-chip" data-colour={colourOf(replica.name)} aria-hidden="true">
            {numberOf(replica.name)}
          </span>
          <span class="demo-replica-name">
            <strong>{replica.name}</strong>
            <span class="small">
              <MarkIcon mark={marks[replica.state]} />
              {words(
                replica,
                endpoints.find(({ address }) => address === replica.address),
              )}
            </span>
          </span>
          <span class="demo-buttons">
            {replica.actions.map((button) => (
              <ActionButton key={button.action.kind} button={button} to={replica.name} {...on} />
            ))}
          </span>
        </li>
      ))}
    </ul>
  )
}

const marks = {
  running: 'ready',
  unready: 'not ready',
  stopped: 'terminating',
  draining: 'terminating, still serving',
} as const satisfies Record<DemoReplica['state'], unknown>

/** The state as the objects have it, and what the proxy makes of it. */
function words({ state }: DemoReplica, endpoint: EndpointDetail | undefined): string {
  const failures = endpoint?.traffic?.failures ?? 0
  const failed = failures > 0 ? `, ${count(failures, 'dial')} failed and went elsewhere` : ''
  switch (state) {
    case 'running':
      return endpoint?.share === undefined ? 'ready' : `ready, gets ${percent(endpoint.share)}`
    case 'unready':
      return 'runs, but is marked not ready: gets nothing'
    case 'stopped':
      return endpoint?.state === 'ready'
        ? `stopped; the proxy is not told yet${failed}`
        : `stopped, gets nothing${failed}`
    case 'draining':
      return endpoint?.share === undefined ? 'draining: serves, gets nothing new' : 'draining, and still needed'
    default:
      return state satisfies never
  }
}
