/**
 * `node --import unwatched-daemon.js bin/fairlead.js …`: the daemon as it is installed, until SIGUSR2; from then on nobody
 * counts, traces or remembers what it does. There is no flag for that, because nobody else would want it.
 */
import { pathToFileURL } from 'node:url'
import type * as lastTouched from '../../../src/core/sync/last-touched.ts'
import type * as metrics from '../../../src/core/proxy-metrics.ts'
import type * as prometheus from '../../../src/observe/metrics/proxy-metrics.ts'
import type * as recording from '../../../src/observe/tracing/trace-recorder.ts'
import type * as safety from '../../../src/core/sync/time-to-safety.ts'
import type * as trace from '../../../src/core/trace.ts'

const dist = new URL('../dist/', pathToFileURL(process.argv[1] ?? ''))
const load = async <M>(file: string) => (await import(new URL(file, dist).href)) as M

const { noTracer } = await load<typeof trace>('core/trace.js')
const { silentMetrics } = await load<typeof metrics>('core/proxy-metrics.js')
const { TraceRecorder } = await load<typeof recording>('observe/tracing/trace-recorder.js')
const { PrometheusProxyMetrics } = await load<typeof prometheus>('observe/metrics/proxy-metrics.js')
const { TimeToSafety } = await load<typeof safety>('core/sync/time-to-safety.js')
const { LastTouched } = await load<typeof lastTouched>('core/sync/last-touched.js')

// A hook that has been handed out stays, so it looks each time.
let isWatched = true
const afterSyncOf = Object.getOwnPropertyDescriptor(LastTouched.prototype, 'afterSync')
  ?.value as typeof LastTouched.prototype.afterSync
LastTouched.prototype.afterSync = function () {
  const hook = afterSyncOf.call(this)
  return { ...hook, run: (...sync) => (isWatched ? hook.run(...sync) : undefined) }
}

process.on('SIGUSR2', () => {
  isWatched = false
  Object.assign(TraceRecorder.prototype, noTracer)
  Object.assign(PrometheusProxyMetrics.prototype, silentMetrics)
  TimeToSafety.prototype.committed = () => {}
})
