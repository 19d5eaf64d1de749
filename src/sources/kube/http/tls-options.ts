import { isIP } from 'node:net'
import { checkServerIdentity } from 'node:tls'
import type { ConnectionOptions } from 'node:tls'
import type { KubeEndpoint } from '../access/kube-access.ts'

export type TlsOptions = ConnectionOptions

export function tlsOptions({ server, tls }: KubeEndpoint): TlsOptions {
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
