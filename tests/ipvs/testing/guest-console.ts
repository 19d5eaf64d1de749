/** The words around what the command prints; the kernel prints before and after. */
export const [beginMark, endMark] = ['guest-command-begins', 'guest-command-ends']

/** What came from the guest so far. */
export class GuestConsole {
  everything = ''
  readonly #onOutput: ((text: string) => void) | undefined
  #told = 0

  constructor(onOutput: ((text: string) => void) | undefined) {
    this.#onOutput = onOutput
  }

  /** What lies between the marks. */
  get output(): string {
    const begin = this.everything.indexOf(beginMark)
    if (begin < 0) return ''
    const end = this.everything.lastIndexOf(endMark)
    return this.everything.slice(begin + beginMark.length, end < begin ? undefined : end).trimStart()
  }

  readonly take = (chunk: string): void => {
    // A console ends its lines like a teletype.
    this.everything += chunk.replaceAll('\r', '')
    const { output } = this
    if (output.length > this.#told) this.#onOutput?.(output.slice(this.#told))
    this.#told = output.length
  }
}
