export class KpngError extends Error {
  override readonly name = 'KpngError'
  readonly reason: 'bad-address' | 'in-use' | 'not-permitted' | 'bad-tls' | 'plaintext' | 'no-node-name' | 'protocol'

  constructor(reason: KpngError['reason'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}
