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
    const output = withoutBegunMark(this.output)
    if (output.length <= this.#told) return
    this.#onOutput?.(output.slice(this.#told))
    this.#told = output.length
  }
}

/** A chunk may end anywhere, also within the mark; the rest of it shows whether it was one. */
function withoutBegunMark(text: string): string {
  for (let length = endMark.length - 1; length > 0; length--)
    if (text.endsWith(endMark.slice(0, length))) return text.slice(0, -length)
  return text
}
