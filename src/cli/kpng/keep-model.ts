/** `to-api` and `to-file`: the state of the whole cluster, served or written down. */
import { GlobalStore } from '../../kpng/store/global-store.ts'
import { MetricRegistry } from '../../observe/metrics/prometheus.ts'
import { runAll } from '../run-all.ts'
import { openCoreTracing } from '../tracing/core-tracing.ts'
import type { Runnable } from '../run-all.ts'
import { metricsServers } from './metrics-endpoint.ts'
import { openModel } from './open-model.ts'
import { incomplete } from './sink-context.ts'
import type { SinkContext } from './sink-context.ts'
import { apiServer } from './to-api.ts'
import { stateWriter } from './to-file.ts'

export async function keepModel(
  { line, values, model, log, program }: SinkContext,
  signal: AbortSignal,
): Promise<void> {
  const { host } = program
  const { clock } = host
  const store = new GlobalStore()
  const registry = new MetricRegistry()
  registry.addProcessMetrics()
  // Ends last: what the others do at their end is part of the traces.
  await using tracing = await openCoreTracing({
    endpoint: values['otlp-endpoint'],
    command: `${line.source} ${line.sink}`,
    registry,
    host,
    log,
  })
  const source = await openModel(model, { store, host, log, registry, tracing })
  const problem = () => (store.isSynced ? undefined : incomplete)
  const metrics = metricsServers({ address: values.exportMetrics, registry, problem, clock, log })
  // Last, because it listens at once: any other mistake in the command line has been refused by now.
  const sinks: readonly Runnable[] =
    line.sink === 'to-api'
      ? await apiServer({ store, values, registry, tracer: tracing.tracer, host, log })
      : [stateWriter({ store, path: values.output, log })]
  program.onRunning()
  await runAll([source, ...metrics, ...sinks], signal)
}
