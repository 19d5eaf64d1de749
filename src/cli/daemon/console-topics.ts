/** What the console of a node can follow, put together from what the daemon has. */
import type { ProxyHealth } from '../../core/health/proxy-health.ts'
import type { Readiness } from '../../core/health/readiness.ts'
import type { LiveTopic } from '../../observe/console/live-topic.ts'
import { nodeTopics } from '../../observe/console/topics/node-topics.ts'
import type { Overview, Problem } from '../../observe/console/wire.ts'
import type { ClusterParts } from './daemon.ts'
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
    source: () => sourceOf(cluster),
    isHealthy: () => health.isHealthy,
    isReady: () => readiness.ready.aborted,
    problems: () => configProblems(options.reload),
    clock: daemon.host.clock,
    log: daemon.log,
  })
}

function sourceOf({ source, saved }: ClusterParts): Overview['source'] {
  const { from } = source
  const kinds = [...source.status().values()]
  const contacts = kinds.flatMap(({ lastContactMs }) => lastContactMs ?? [])
  const lastContact = contacts.length === 0 ? {} : { lastContact: isoTime(Math.max(...contacts)) }
  if (!source.isLive())
    return saved.savedAtMs === undefined
      ? { from, state: 'waiting', ...lastContact }
      : { from, state: 'saved', since: isoTime(saved.savedAtMs), ...lastContact }
  const lost = kinds.filter(({ isLost }) => isLost)
  if (lost.length === 0) return { from, state: 'live', ...lastContact }
  const since = Math.min(...lost.flatMap(({ lastContactMs }) => lastContactMs ?? []))
  return { from, state: 'lost', ...(Number.isFinite(since) && { since: isoTime(since) }), ...lastContact }
}

function configProblems({ refused, pending }: ConsoleTopicsOptions['reload']): readonly Problem[] {
  const problems: Problem[] = []
  if (refused !== undefined)
    problems.push({
      severity: 'warning',
      text: `the configuration file as it is cannot be used, the one before is in use: ${refused.problem}`,
      at: isoTime(refused.atMs),
    })
  if (pending !== undefined)
    problems.push({
      severity: 'note',
      text: `changes of the configuration file wait for a restart: ${pending.fields.map(({ field }) => field).join(', ')}`,
    })
  return problems
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
