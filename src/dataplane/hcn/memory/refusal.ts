/** What an HNS in memory answers instead of doing something. */
export class HnsRefusal extends Error {
  override readonly name = 'HnsRefusal'
  readonly code: number

  constructor(code: number) {
    super(`0x${code.toString(16)}`)
    this.code = code
  }
}
