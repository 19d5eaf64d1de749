/** What the daemon did and why, always recorded. Whoever wants every tree too adds a sink to the recorder. */
import type { Clock } from '../../core/clock.ts'
import { SyncHistory } from '../../observe/tracing/sync-history.ts'
import { TraceRecorder } from '../../observe/tracing/trace-recorder.ts'

export interface DaemonTracing {
  readonly recorder: TraceRecorder
  /** For `/debug/syncs`. */
  readonly history: SyncHistory
}

export function daemonTracing(clock: Clock): DaemonTracing {
  const history = new SyncHistory()
  return { recorder: new TraceRecorder({ clock, sinks: [history] }), history }
}
