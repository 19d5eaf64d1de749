export class ApiServerError extends Error {
  override readonly name = 'ApiServerError'
  readonly reason: 'port-in-use' | 'address-not-allowed' | 'listen-failed'

  constructor(reason: ApiServerError['reason'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}
