/** The Events that the daemon writes to the cluster; without a cluster it writes none. */
import type { ObjectKey } from '../../api/records.ts'
import type { Logger } from '../../core/logger.ts'
import type { HealthCheckPort } from '../../core/health/service-health.ts'
import { isOfOneNode } from '../../core/routing/service-notices.ts'
import type { NoticeReason } from '../../core/routing/service-notices.ts'
import type { ProxyEvent } from '../../sources/kube/event-object.ts'
import { EventRecorder } from '../../sources/kube/event-recorder.ts'
import type { KubeClient } from '../../sources/kube/kube-client.ts'
import type { Host } from '../host/host.ts'
import type { Runnable } from '../run-all.ts'

export interface DaemonEvents extends Runnable {
  started(): void
  bindFailed(reason: BindFailure, note: string): void
  healthPortFailed(port: HealthCheckPort, note: string): void
  notServedEverywhere(service: ObjectKey, note: string): void
  serviceNotice(service: ObjectKey, reason: NoticeReason, note: string): void
  configuration(reason: ConfigurationReason, note: string): void
}

type ConfigurationReason = 'ConfigurationApplied' | 'ConfigurationRefused' | 'ConfigurationNeedsRestart'

export type BindFailure = 'FailedToStartProxierHealthcheck' | 'FailedToStartMetricServer'

export function daemonEvents(
  client: KubeClient | undefined,
  { nodeName, host, log }: { readonly nodeName: string; readonly host: Host; readonly log: Logger },
): DaemonEvents {
  if (client === undefined)
    return {
      started() {},
      bindFailed() {},
      healthPortFailed() {},
      notServedEverywhere() {},
      serviceNotice() {},
      configuration() {},
      run: () => Promise.resolve(),
    }
  const recorder = new EventRecorder({ client, hostname: host.hostname(), clock: host.clock, log })
  const regarding = { apiVersion: 'v1', kind: 'Node', name: nodeName }
  const action = 'StartKubeProxy'
  return {
    run: (signal) => recorder.run(signal),
    started: () => recorder.record({ regarding, type: 'Normal', reason: 'Starting', action, note: '' }),
    bindFailed: (reason, note) => recorder.record({ regarding, type: 'Warning', reason, action, note }),
    configuration: (reason, note) =>
      recorder.record({
        regarding,
        type: reason === 'ConfigurationApplied' ? 'Normal' : 'Warning',
        reason,
        action: 'Configure',
        note,
      }),
    healthPortFailed: ({ namespace, name }, note) =>
      recorder.record({
        regarding: { apiVersion: 'v1', kind: 'Service', namespace, name },
        type: 'Warning',
        reason: 'FailedToStartServiceHealthcheck',
        action: 'Listen',
        note,
      }),
    notServedEverywhere: (service, note) =>
      recorder.record({
        regarding: serviceOf(service),
        type: 'Warning',
        reason: 'NotServedEverywhere',
        action: 'Listen',
        note,
      }),
    serviceNotice: (service, reason, note) => recorder.record(noticeEvent(service, reason, note, nodeName)),
  }
}

/** Every node sees the same Service, so one Event is enough for all of them, unless a node speaks of itself. */
export function noticeEvent(service: ObjectKey, reason: NoticeReason, note: string, nodeName: string): ProxyEvent {
  const event = { regarding: serviceOf(service), type: 'Warning', reason, action: 'Program' } as const
  return isOfOneNode(reason)
    ? { ...event, note: `node ${nodeName}: ${note}` }
    : { ...event, note, isSameOnEveryNode: true }
}

function serviceOf(key: ObjectKey) {
  const [namespace = '', name = ''] = key.split('/')
  return { apiVersion: 'v1', kind: 'Service', namespace, name }
}
