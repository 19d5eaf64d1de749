/** `to-local`, `to-exec` and `to-module`: what one node has to program, handed to a sink with each change. */
import { MetricRegistry } from '../../observe/metrics/prometheus.ts'
import { runAll } from '../run-all.ts'
import { openCoreTracing } from '../tracing/core-tracing.ts'
import { nodeNameFrom, openLocalFeed } from './local-feed.ts'
import { openLocalSink } from './local-sinks.ts'
import { metricsServers } from './metrics-endpoint.ts'
import type { SinkContext } from './sink-context.ts'

export async function followLocally(context: SinkContext, signal: AbortSignal): Promise<void> {
  const { values, model, log, program } = context
  const { host } = program
  const node = nodeNameFrom(values['node-name'], host)
  const done = new AbortController()
  const running = AbortSignal.any([signal, done.signal])
  const registry = new MetricRegistry()
  registry.addProcessMetrics()
  await using tracing = await openCoreTracing({
    endpoint: values['otlp-endpoint'],
    command: `${context.line.source} ${context.line.sink}`,
    registry,
    host,
    log,
  })
  const feed = await openLocalFeed(model, node, { host, log, registry, tracing })
  const sink = await openLocalSink(context, node, running)
  const follow = async (until: AbortSignal) => {
    await using owned = sink
    await feed.follow(async (changes) => {
      await owned.apply(changes, until)
      if (values.once) done.abort()
    }, until)
  }
  const problem = () => sink.problem()
  const metrics = metricsServers({ address: values.exportMetrics, registry, problem, clock: host.clock, log })
  program.onRunning()
  await runAll([{ run: follow }, ...sink.parts, ...metrics], running)
}
