type KpngReason =
  'bad-address' | 'in-use' | 'not-permitted' | 'bad-tls' | 'plaintext' | 'no-node-name' | 'bad-file' | 'protocol'

export class KpngError extends Error {
  override readonly name = 'KpngError'
  readonly reason: KpngReason

  constructor(reason: KpngReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}
