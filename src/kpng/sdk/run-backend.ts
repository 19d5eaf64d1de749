/** Runs a backend of your own in a process of its own, behind a KPNG server. */
import { hostname } from 'node:os'
import { systemClock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { parseApiTarget } from '../client/api-target.ts'
import type { TlsFiles } from '../../http/tls/tls-files.ts'
import { openTls } from '../open-tls.ts'
import { BackendDriver } from './backend-driver.ts'
import { consoleLogger } from './console-logger.ts'
import type { KpngBackend } from './define-backend.ts'

export interface RunBackendOptions {
  /** `unix:///run/fairlead.sock`, `host:port` or `dns:///name:port`. */
  readonly api: string
  /** Mutual TLS; plaintext without it. Files that are replaced are read again for the next connection. */
  readonly tls?: TlsFiles
  /** Without TLS, a server on another machine is refused unless this is set: see docs/kpng.md. */
  readonly allowPlaintext?: boolean
  /** The node to program; `$NODE_NAME` or the host name by default. */
  readonly node?: string
  /** Lines on stderr by default; silentLogger for none. */
  readonly log?: Logger
  /** Ends the backend. */
  readonly signal: AbortSignal
}

/** Resolves when the signal has aborted. While the server is away, the backend keeps what it has programmed. */
export async function runBackend(backend: KpngBackend, options: RunBackendOptions): Promise<void> {
  const { log = consoleLogger(), signal } = options
  const node = options.node ?? process.env['NODE_NAME'] ?? hostname().toLowerCase()
  // Programs that use the library for something else should not load gRPC.
  const { WatchClient } = await import('../client/watch-client.ts')
  const client = new WatchClient({
    target: parseApiTarget(options.api),
    tls: options.tls && openTls(options.tls, log),
    allowsPlaintext: options.allowPlaintext ?? false,
    maxMessageBytes: 4 << 20,
    clock: systemClock,
    random: Math.random,
    log,
  })
  await using driver = new BackendDriver(backend, { node, log, signal }, systemClock)
  await client.follow({ api: 'local', node, wantsUnscoped: false }, (changes) => driver.apply(changes), signal)
}
