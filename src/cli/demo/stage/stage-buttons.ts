/** What can be done with the stage as it is now, and the line for a shell that does the same. */
import type { DemoButton } from '../../../observe/console/wire.ts'
import { namespace, stoppedAnnotation } from '../sample-application.ts'
import { mostReplicas } from './stage-crew.ts'
import { scaleAnnotation } from './stage-objects.ts'
import type { StageReplica, StageService } from './stage-objects.ts'
import { isDraining } from './stage-writes.ts'

const kubectl = `kubectl -n ${namespace}`

export function replicaButtons({ name, isStopped, isTerminating }: StageReplica): readonly DemoButton[] {
  if (isTerminating) return []
  const stopped = (isIt: boolean) =>
    `${kubectl} annotate endpointslice ${name} ${stoppedAnnotation}=${String(isIt)} --overwrite`
  if (isStopped)
    return [
      {
        action: { kind: 'start', replica: name },
        label: 'Start',
        kubectl: stopped(false),
        about: 'Its server comes back, its endpoint becomes ready, and it gets its share again.',
      },
    ]
  const drain = JSON.stringify([{ op: 'replace', path: '/endpoints/0/conditions', value: isDraining }])
  return [
    {
      action: { kind: 'stop', replica: name },
      label: 'Stop',
      kubectl: stopped(true),
      about:
        'Its server really stops. Until its endpoint is marked not ready, the proxy finds out by itself: a dial fails, and the next replica answers.',
    },
    {
      action: { kind: 'drain', replica: name },
      label: 'Drain',
      kubectl: `${kubectl} patch endpointslice ${name} --type=json -p '${drain}'`,
      about:
        'It is terminating but still serves, as a pod that is being deleted: nothing new goes there. Then it is gone.',
    },
  ]
}

export function serviceButtons({ name, hasAffinity }: StageService, staying: number): readonly DemoButton[] {
  const affinity = hasAffinity ? 'None' : 'ClientIP'
  return [
    {
      ...scaleButton(name, Math.min(mostReplicas, staying + 1)),
      label: 'Add a replica',
      about: 'A new server and a new endpoint: new connections are shared with it at once.',
      ...(staying >= mostReplicas && { whyNot: `${mostReplicas} are enough for a demo` }),
    },
    {
      ...scaleButton(name, Math.max(0, staying - 1)),
      label: 'Remove a replica',
      about: 'The last one goes. With nobody left, the proxy turns clients away at once instead of letting them wait.',
      ...(staying === 0 && { whyNot: 'there is none' }),
    },
    {
      action: { kind: 'affinity', service: `${namespace}/${name}`, to: hasAffinity ? 'off' : 'on' },
      label: hasAffinity ? 'Turn affinity off' : 'Turn affinity on',
      kubectl: `${kubectl} patch service ${name} -p '{"spec":{"sessionAffinity":"${affinity}"}}'`,
      about: 'With affinity, each client stays with one replica. Look at who answers whom.',
    },
  ]
}

export function apiServerButton(isUp: boolean): DemoButton {
  return {
    action: { kind: 'api-server', to: isUp ? 'off' : 'on' },
    label: isUp ? 'Kill the API server' : 'Bring the API server back',
    about: isUp
      ? 'kubectl stops working, traffic does not: the proxy goes on with what it knows.'
      : 'The proxy asks for it again and again; it catches up with what it has missed.',
  }
}

function scaleButton(name: string, to: number): Pick<DemoButton, 'action' | 'kubectl'> {
  return {
    action: { kind: 'scale', service: `${namespace}/${name}`, to },
    kubectl: `${kubectl} annotate service ${name} ${scaleAnnotation}=${to} --overwrite`,
  }
}
