/** What the console of a node can follow, put together from what the daemon has. */
import type { ProxyHealth } from '../../core/health/proxy-health.ts'
import type { Readiness } from '../../core/health/readiness.ts'
import type { LiveTopic } from '../../observe/console/live-topic.ts'
import { nodeTopics } from '../../observe/console/topics/node-topics.ts'
import type { Problem } from '../../observe/console/wire.ts'
import { shownSource } from './console-source.ts'
import type { DebugPagesOptions } from './debug-pages.ts'
import type { ReloadStatus } from './reload/reload-status.ts'
import type { PreparedNode } from './serve.ts'

export interface ConsoleTopicsOptions extends DebugPagesOptions {
  readonly prepared: PreparedNode
  readonly health: ProxyHealth
  readonly readiness: Readiness
  readonly reload: Pick<ReloadStatus, 'refused' | 'pending'>
}

export function consoleTopics(options: ConsoleTopicsOptions): readonly LiveTopic[] {
  const { daemon, cluster, memory, proxies, book, history, world, health, readiness } = options
  return nodeTopics({
    catalog: cluster.catalog,
    families: proxies,
    notices: memory.notices,
    drift: memory.drift,
    book,
    history,
    world,
    source: () => shownSource(cluster),
    isHealthy: () => health.isHealthy,
    isReady: () => readiness.ready.aborted,
    problems: () => configProblems(options.reload),
    clock: daemon.host.clock,
    log: daemon.log,
  })
}

function configProblems({ refused, pending }: ConsoleTopicsOptions['reload']): readonly Problem[] {
  const problems: Problem[] = []
  if (refused !== undefined)
    problems.push({
      severity: 'warning',
      text: `the configuration file as it is cannot be used, the one before is in use: ${refused.problem}`,
      at: new Date(refused.atMs).toISOString(),
    })
  if (pending !== undefined)
    problems.push({
      severity: 'note',
      text: `changes of the configuration file wait for a restart: ${pending.fields.map(({ field }) => field).join(', ')}`,
    })
  return problems
}
