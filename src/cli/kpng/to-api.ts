/** `… to-api`: one process that knows the cluster, for all nodes. */
import type { FlagValues } from '../../config/flags/flag.ts'
import type { Tracer } from '../../core/trace.ts'
import { parseBindSpec } from '../../kpng/server/bind-spec.ts'
import type { Follower } from '../../kpng/server/followers.ts'
import { KpngServer } from '../../kpng/server/kpng-server.ts'
import { openTls } from '../../kpng/open-tls.ts'
import type { GlobalStore } from '../../kpng/store/global-store.ts'
import type { RootLogger } from '../../observe/logging/create-logger.ts'
import { KpngServerSeries } from '../../observe/metrics/kpng-metrics.ts'
import type { MetricRegistry } from '../../observe/metrics/prometheus.ts'
import type { Host } from '../host/host.ts'
import type { Runnable } from '../run-all.ts'
import { coreConsole } from './core-console.ts'
import type { toApiFlags } from './kpng-flags.ts'

export interface ToApi {
  readonly store: GlobalStore
  readonly values: FlagValues<typeof toApiFlags>
  readonly registry: MetricRegistry
  readonly tracer: Tracer
  readonly host: Host
  readonly log: RootLogger
}

/** Listens at once, so that a wrong address ends the command. Clients get no state before it is complete. */
export async function apiServer({ store, values, registry, tracer, host, log }: ToApi): Promise<readonly Runnable[]> {
  const { clock, findFile } = host
  const files = {
    key: findFile(values['listen-tls-key']),
    certificate: findFile(values['listen-tls-crt']),
    ca: findFile(values['listen-tls-ca']),
  }
  const metrics = new KpngServerSeries(registry)
  // What is wrong with its flags shows before anybody can connect.
  let followers: () => readonly Follower[] = () => []
  const console = await coreConsole({ values, store, followers: () => followers(), host, log })
  const server = await KpngServer.listen({
    store,
    bind: parseBindSpec(values.listen),
    tls: openTls(files, log),
    allowsPlaintext: values['allow-plaintext'],
    servesLocal: values['local-api'],
    servesGlobal: values['globalv1-api'],
    maxClients: values['max-clients'],
    maxRequestBytes: 64 * 1024,
    pushIntervalMs: values['push-interval'],
    metrics,
    tracer,
    clock,
    log,
  })
  followers = () => server.followers()
  metrics.unsentBytesFrom(() => server.unsentBytes)
  log.info('serving the KPNG API', { address: server.address })
  const serving: Runnable = {
    async run(signal) {
      await using owned = server
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve()
        else signal.addEventListener('abort', () => resolve(), { once: true })
      })
      void owned
    },
  }
  return [serving, ...console]
}
