/** A patch that cannot be applied, with the HTTP answer it deserves. */
export class PatchError extends Error {
  override readonly name = 'PatchError'
  readonly code: 400 | 422
  readonly reason: 'BadRequest' | 'Invalid'

  constructor(code: 400 | 422, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.reason = code === 400 ? 'BadRequest' : 'Invalid'
  }
}
