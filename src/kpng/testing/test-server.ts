import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import { KpngServer, silentServerMetrics } from '../server/kpng-server.ts'
import type { KpngServerOptions } from '../server/kpng-server.ts'
import type { GlobalStore } from '../store/global-store.ts'

/** On a free port of the loopback address by default. */
export function testServer(store: GlobalStore, changes: Partial<KpngServerOptions> = {}): Promise<KpngServer> {
  return KpngServer.listen({
    store,
    bind: { kind: 'tcp', host: '127.0.0.1', port: 0 },
    tls: undefined,
    allowsPlaintext: false,
    servesLocal: true,
    servesGlobal: true,
    maxClients: 1000,
    maxRequestBytes: 4096,
    pushIntervalMs: 10,
    metrics: silentServerMetrics,
    clock: systemClock,
    log: silentLogger,
    ...changes,
  })
}
