/** Why a request to the API server failed. Code decides by the reason; people read the message. */
export type KubeErrorReason = (typeof kubeErrorReasons)[number]

export const kubeErrorReasons = [
  'bad-config',
  'credentials',
  'unreachable',
  'untrusted',
  'timeout',
  'protocol',
  'unauthorized',
  'forbidden',
  'not-found',
  'conflict',
  'gone',
  'version-unavailable',
  'invalid',
  'too-many-requests',
  'server-error',
] as const

export interface KubeErrorOptions extends ErrorOptions {
  /** HTTP status, or the code of a Status object inside a watch. */
  readonly code?: number | undefined
  /** How long the server asked us to wait. */
  readonly retryAfterMs?: number | undefined
}

export class KubeError extends Error {
  override readonly name = 'KubeError'
  readonly reason: KubeErrorReason
  readonly code: number | undefined
  readonly retryAfterMs: number | undefined

  constructor(reason: KubeErrorReason, message: string, options: KubeErrorOptions = {}) {
    super(message, options)
    this.reason = reason
    this.code = options.code
    this.retryAfterMs = options.retryAfterMs
  }
}
