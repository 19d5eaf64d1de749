/** The HTTP/2 server below the API: plaintext, or TLS with a certificate required of every client. */
import { createSecureServer, createServer } from 'node:http2'
import type { Http2SecureServer, Http2Server } from 'node:http2'
import type { Clock } from '../../core/clock.ts'
import { KpngError } from '../kpng-error.ts'
import type { TlsMaterial } from '../../http/tls/tls-files.ts'
import type { TlsSource } from '../../http/tls/tls-source.ts'

const settings = { settings: { maxConcurrentStreams: 100 } }
const renewEveryMs = 10_000

export interface ApiHttp2Server {
  readonly server: Http2Server | Http2SecureServer
  /** Until the signal aborts, uses replaced TLS files for new connections. */
  renew(clock: Clock, signal: AbortSignal): Promise<void>
}

export function http2Server(tls: TlsSource | undefined): ApiHttp2Server {
  if (tls === undefined) return { server: createServer(settings), renew: () => Promise.resolve() }
  // Without one, Node would accept every public CA, and anybody can get a certificate from those.
  if (tls.current.ca === undefined)
    throw new KpngError(
      'bad-tls',
      'TLS needs the CA that signs the certificates of your clients: name it with --listen-tls-ca',
    )
  const server = createSecureServer({
    ...settings,
    ...secureContext(tls.current),
    ALPNProtocols: ['h2'],
    requestCert: true,
    rejectUnauthorized: true,
  })
  return {
    server,
    async renew(clock, signal) {
      while (!signal.aborted) {
        await clock.sleep(renewEveryMs, signal).catch(() => {})
        if (!signal.aborted && tls.refresh()) server.setSecureContext(secureContext(tls.current))
      }
    },
  }
}

function secureContext(material: TlsMaterial): TlsMaterial & { readonly minVersion: 'TLSv1.2' } {
  return { ...material, minVersion: 'TLSv1.2' }
}
