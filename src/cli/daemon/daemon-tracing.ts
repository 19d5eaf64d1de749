/** What the daemon did and why, always recorded. Whoever wants every tree too adds a sink to the recorder. */
import type { Clock } from '../../core/clock.ts'
import type { Span } from '../../core/trace.ts'
import { SyncHistory } from '../../observe/tracing/sync-history.ts'
import { TraceRecorder } from '../../observe/tracing/trace-recorder.ts'

export interface DaemonTracing {
  readonly recorder: TraceRecorder
  /** For `/debug/syncs`. */
  readonly history: SyncHistory
  /** How the process gets ready: it ends when all backends are open. */
  readonly start: Span
}

export function daemonTracing(clock: Clock): DaemonTracing {
  const history = new SyncHistory()
  const recorder = new TraceRecorder({ clock, sinks: [history] })
  return { recorder, history, start: recorder.start('createProxier') }
}
