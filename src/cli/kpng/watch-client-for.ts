import type { FlagValues } from '../../config/flags/flag.ts'
import type { Logger } from '../../core/logger.ts'
import { parseApiTarget } from '../../kpng/client/api-target.ts'
import { WatchClient } from '../../kpng/client/watch-client.ts'
import { openTls } from '../../kpng/open-tls.ts'
import { addKpngCoreSeries } from '../../observe/metrics/kpng-metrics.ts'
import type { MetricRegistry } from '../../observe/metrics/prometheus.ts'
import type { Host } from '../host/host.ts'
import { fairleadVersion } from '../program.ts'
import type { apiFlags } from './kpng-flags.ts'

export interface WatchClientContext {
  /** What it is for: a mode, such as `nftables`, or a sink. The server's console shows it. */
  readonly use: string
  readonly host: Pick<Host, 'clock' | 'findFile'>
  readonly log: Logger
  readonly registry?: MetricRegistry
}

/** The client that the flags ask for. Rejects at once when a TLS file cannot be used. */
export async function watchClientFor(
  values: FlagValues<typeof apiFlags>,
  { use, host: { clock, findFile }, log, registry }: WatchClientContext,
): Promise<WatchClient> {
  const ownLog = log.child({ source: 'kpng' })
  const files = {
    key: findFile(values['api-client-tls-key']),
    certificate: findFile(values['api-client-tls-crt']),
    ca: findFile(values['api-client-tls-ca']),
  }
  const client = new WatchClient({
    target: parseApiTarget(values.api),
    tls: openTls(files, ownLog),
    allowsPlaintext: values['allow-plaintext'],
    maxMessageBytes: values['max-msg-size'],
    userAgent: `fairlead/${fairleadVersion()} (${use})`,
    clock,
    random: Math.random,
    log: ownLog,
  })
  if (registry !== undefined) addKpngCoreSeries(registry, clock, () => client.status())
  return client
}
