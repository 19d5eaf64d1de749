/** How a gRPC call ends. */
import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'

export const grpcCode = {
  ok: 0,
  invalidArgument: 3,
  resourceExhausted: 8,
  aborted: 10,
  unimplemented: 12,
  unavailable: 14,
} as const

export interface GrpcStatus {
  readonly code: (typeof grpcCode)[keyof typeof grpcCode]
  readonly message: string
}

export const statusOk: GrpcStatus = { code: grpcCode.ok, message: '' }

export const grpcHeaders: OutgoingHttpHeaders = { ':status': 200, 'content-type': 'application/grpc' }

export function statusHeaders({ code, message }: GrpcStatus): OutgoingHttpHeaders {
  return { 'grpc-status': String(code), ...(message !== '' && { 'grpc-message': encodeURIComponent(message) }) }
}

/** For a call that is refused before it begins. */
export function refuse(stream: ServerHttp2Stream, status: GrpcStatus): void {
  stream.respond({ ...grpcHeaders, ...statusHeaders(status) }, { endStream: true })
}
