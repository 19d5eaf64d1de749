/** The address of a collector, and which of OTLP's two protocols it speaks there. */
import { refuse } from './otel-variables.ts'
import type { Setting } from './otel-variables.ts'

export type OtlpProtocol = 'http/protobuf' | 'grpc'

export interface CollectorEndpoint {
  readonly protocol: OtlpProtocol
  /** Where spans are sent; for gRPC without a path. `http:` is plaintext and `https:` is TLS, for both protocols. */
  readonly url: string
}

/** Where collectors listen for gRPC; 4318 is for HTTP. */
const grpcPort = '4317'
const tracesPath = '/v1/traces'

/**
 * The variable for the protocol decides. Without it `grpc://` and `grpcs://` are gRPC, and so is port 4317; everything
 * else is HTTP.
 */
export function parseCollectorEndpoint(
  endpoint: Setting & { readonly isBase: boolean },
  protocolAsked: { readonly name: string; readonly value: OtlpProtocol } | undefined,
): CollectorEndpoint {
  const url = URL.canParse(endpoint.value) ? new URL(endpoint.value) : undefined
  // `localhost:4317` is a URL with the scheme "localhost".
  if (url === undefined || !/^(?:https?|grpcs?):$/.test(url.protocol) || url.hostname === '')
    refuse(endpoint, 'is not the URL of a collector: write it like http://collector:4318 or grpc://collector:4317')
  if (url.username !== '' || url.password !== '')
    refuse({ ...endpoint, value: '…' }, 'has a password in it: put it into OTEL_EXPORTER_OTLP_HEADERS instead')
  const namesGrpc = url.protocol.startsWith('grpc')
  if (namesGrpc && protocolAsked?.value === 'http/protobuf')
    refuse(endpoint, `contradicts ${protocolAsked.name}=http/protobuf: remove one of the two`)
  const protocol = protocolAsked?.value ?? (namesGrpc || url.port === grpcPort ? 'grpc' : 'http/protobuf')
  const scheme = /^(?:https|grpcs):$/.test(url.protocol) ? 'https' : 'http'
  if (protocol === 'grpc') {
    if (url.pathname.length > 1) refuse(endpoint, 'has a path, which gRPC does not use: remove it')
    const port = url.port === '' ? grpcPort : url.port
    return { protocol, url: `${scheme}://${url.hostname}:${port}` }
  }
  const path = endpoint.isBase ? withTracesPath(url.pathname) : url.pathname
  return { protocol, url: `${scheme}://${url.host}${path}${url.search}` }
}

function withTracesPath(path: string): string {
  const base = path.replace(/\/+$/, '')
  return base.endsWith(tracesPath) ? base : `${base}${tracesPath}`
}
