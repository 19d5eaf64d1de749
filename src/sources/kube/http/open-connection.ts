/** HTTP/2 where the server offers it during the TLS handshake, else HTTP/1.1. */
import { once } from 'node:events'
import { isIP } from 'node:net'
import { checkServerIdentity, connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import type { Clock } from '../../../core/clock.ts'
import { Http1Connection } from './http1-connection.ts'
import { Http2Connection } from './http2-connection.ts'
import type { HttpConnection } from './http-connection.ts'
import type { KubeEndpoint } from '../access/kube-access.ts'

export async function openConnection(
  endpoint: KubeEndpoint,
  clock: Clock,
  signal: AbortSignal,
): Promise<HttpConnection> {
  const { server } = endpoint
  if (server.protocol === 'http:') return new Http1Connection(server, undefined)
  const options = tlsOptions(endpoint)
  const socket = connect({
    ...options,
    host: server.hostname.replace(/^\[|\]$/g, ''),
    port: server.port === '' ? 443 : Number(server.port),
    ALPNProtocols: ['h2', 'http/1.1'],
  })
  try {
    await once(socket, 'secureConnect', { signal })
  } catch (error) {
    socket.on('error', () => {})
    socket.destroy()
    throw error
  }
  if (socket.alpnProtocol === 'h2') return new Http2Connection(server, socket, clock)
  discard(socket)
  return new Http1Connection(server, options)
}

/** HTTP/1.1 has a pool that opens its own sockets; this one only told us which version to speak. */
function discard(socket: TLSSocket): void {
  socket.on('error', () => {})
  socket.destroy()
}

function tlsOptions({ server, tls }: KubeEndpoint): ConnectionOptions {
  const expected = tls.serverName ?? server.hostname.replace(/^\[|\]$/g, '')
  return {
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
    rejectUnauthorized: !tls.isInsecure,
    minVersion: 'TLSv1.2',
    // An IP address must not be sent as the server name (RFC 6066), but the certificate is still checked against it.
    servername: isIP(expected) === 0 ? expected : '',
    checkServerIdentity: (_host, certificate) => checkServerIdentity(expected, certificate),
  }
}
