/** One Service of the sample application: its picture, its replicas, who answers whom, and what can be done. */
import { useSignal } from '@preact/signals'
import type {
  DemoButton,
  DemoMoment,
  DemoService,
  EndpointDetail,
  PortDetail,
  ServiceDetail,
} from '../../../src/observe/console/wire.ts'
import { count } from '../../parts/format.ts'
import { Picture } from '../../parts/picture/picture.tsx'
import { ActionButton } from './action-button.tsx'
import { captions } from './captions.ts'
import { CommandLine } from './command-line.tsx'
import { DemoStory } from './demo-story.tsx'
import { ReplicaList } from './replica-list.tsx'
import { WhoAnswers } from './who-answers.tsx'

export interface DemoServiceProps {
  readonly service: DemoService
  readonly detail: ServiceDetail | undefined
  readonly story: readonly DemoMoment[]
}

export function DemoServiceSection({ service, detail, story }: DemoServiceProps) {
  const pointed = useSignal<DemoButton | undefined>(undefined)
  const problem = useSignal<string | undefined>(undefined)
  const { key, replicas, actions } = service
  const port = detail?.ports[0]
  const on = {
    onPoint: (button: DemoButton) => (pointed.value = button),
    onProblem: (text: string | undefined) => (problem.value = text),
  }
  const shown = current(pointed.value, service) ?? replicas[0]?.actions[0] ?? actions[0]
  const id = `demo-${key.replace('/', '-')}`
  return (
    <section class="demo-service" aria-labelledby={id}>
      <div class="demo-words">
        <h2 id={id}>{captions[key]?.title ?? key}</h2>
        <p>{captions[key]?.text}</p>
      </div>
      <div class="demo-picture">
        {port === undefined ? (
          <p class="quiet">Waiting for what the proxy knows of it.</p>
        ) : (
          <Picture port={inOrder(port, replicas)} known={labels(service)} />
        )}
      </div>
      <div class="demo-controls">
        <ReplicaList service={service} endpoints={port?.endpoints ?? []} {...on} />
        <div class="demo-buttons">
          {actions.map((button) => (
            <ActionButton key={button.action.kind + button.label} button={button} to={`(${key})`} {...on} />
          ))}
        </div>
        {problem.value !== undefined && (
          <p class="demo-problem" role="alert">
            {problem.value}
          </p>
        )}
        {shown !== undefined && <CommandLine button={shown} />}
      </div>
      <div class="demo-effects">
        <WhoAnswers service={service} />
        <DemoStory story={story} of={key} />
      </div>
      <p class="demo-more quiet small">
        {service.address !== undefined && (
          <>
            Try it yourself: <code>{tryIt(service)}</code>{' '}
          </>
        )}
        <a href={`/services/${key}`}>All about {key}, as on a node</a>
      </p>
    </section>
  )
}

/** By their names, as beside it. */
function inOrder(port: PortDetail, replicas: DemoService['replicas']): PortDetail {
  const place = ({ address }: EndpointDetail) => replicas.findIndex((replica) => replica.address === address)
  return { ...port, endpoints: [...port.endpoints].sort((left, right) => place(left) - place(right)) }
}

/** As it is offered now: what was pointed at may have become something else, such as Stop Start. */
function current(pointed: DemoButton | undefined, { replicas, actions }: DemoService): DemoButton | undefined {
  if (pointed === undefined) return undefined
  const all = [...actions, ...replicas.flatMap((replica) => replica.actions)]
  const { kind, replica, to } = pointed.action
  const same = all.find(({ action }) => action.kind === kind && action.replica === replica && action.to === to)
  return same ?? pointed
}

function labels({ replicas, clients, address }: DemoService) {
  return {
    names: new Map(replicas.map((replica) => [replica.address, replica.name])),
    clients: { title: count(clients.length, 'client'), lines: ['of this demo'] },
    servedAt: address,
  }
}

function tryIt({ protocol, address = '' }: DemoService): string {
  return protocol === 'UDP' ? `echo hi | nc -u -w1 ${address.replace(':', ' ')}` : `curl http://${address}`
}
