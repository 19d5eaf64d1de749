export class JournalError extends Error {
  override readonly name = 'JournalError'
  readonly reason: 'in-use' | 'corrupt' | 'disk-full' | 'write-failed' | 'unusable'

  constructor(reason: JournalError['reason'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}
