/** A patch that cannot be applied, with its HTTP status. */
export class PatchError extends Error {
  override readonly name = 'PatchError'
  readonly code: keyof typeof reasons
  readonly reason: (typeof reasons)[keyof typeof reasons]

  constructor(code: keyof typeof reasons, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.reason = reasons[code]
  }
}

const reasons = { 400: 'BadRequest', 413: 'RequestEntityTooLarge', 422: 'Invalid' } as const
