/** What the families together remember, for those who ask what the proxy has done. */
import { ToldNotices } from '../../core/routing/told-notices.ts'
import { DriftMemory } from '../../core/sync/drift-memory.ts'
import { LastTouched } from '../../core/sync/last-touched.ts'
import { TimeToSafety } from '../../core/sync/time-to-safety.ts'
import type { DaemonEvents } from './daemon-events.ts'
import type { ClusterParts, Daemon } from './daemon.ts'

export interface ProxyMemory {
  /** What is wrong with a Service, which is told once, not once per family. */
  readonly notices: ToldNotices
  readonly safety: TimeToSafety
  readonly touched: LastTouched
  readonly drift: DriftMemory
}

export function proxyMemory(
  { host: { clock }, log }: Pick<Daemon, 'host' | 'log'>,
  { metrics: { proxy: metrics } }: Pick<ClusterParts, 'metrics'>,
  events: Pick<DaemonEvents, 'serviceNotice'>,
): ProxyMemory {
  return {
    notices: new ToldNotices({
      log,
      metrics,
      onNotice: (service, reason, text) => events.serviceNotice(service, reason, text),
    }),
    safety: new TimeToSafety({ clock, metrics }),
    touched: new LastTouched(clock),
    drift: new DriftMemory(clock),
  }
}
