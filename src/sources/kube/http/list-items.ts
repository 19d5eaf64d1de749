/** Splits a LIST while it arrives, so that a large one is never in memory as a whole. */
import { KubeError } from '../kube-error.ts'

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const itemsKey = Buffer.from('items')

/**
 * Passes on each element of the top-level list `items` as soon as it is complete. Returns the answer without them: its
 * `items` is empty, or null as Go writes an empty list.
 */
export async function readListItems(
  chunks: AsyncIterable<Buffer>,
  doing: string,
  onItem: (item: unknown) => void,
): Promise<unknown> {
  const splitter = new ListSplitter((text) => onItem(parse(text, doing)))
  for await (const chunk of chunks) splitter.push(chunk)
  return parse(splitter.end(), doing)
}

/**
 * Looks only at the characters that give JSON its structure, and leaves the rest to JSON.parse, element by element.
 * Works on bytes, so a character that is split between two chunks stays whole.
 */
class ListSplitter {
  readonly #onElement: (text: string) => void
  /** Chunks of the current piece: an element, or what surrounds the elements. */
  #parts: Buffer[] = []
  /** The answer up to its first element. */
  #head = ''
  #depth = 0
  #isInString = false
  #isEscaped = false
  #isInItems = false
  /** How many characters of `items` the current string has matched; -1: it is another string. Only at the top level. */
  #spelled = -1
  /** The last string at the top level was `items`, and then the value that follows its colon. */
  #isItemsKey = false
  #isItemsValue = false

  constructor(onElement: (text: string) => void) {
    this.#onElement = onElement
  }

  push(chunk: Buffer): void {
    let start = 0 // of the current piece
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false
        else if (byte === backslash) {
          this.#isEscaped = true
          this.#spelled = -1
        } else if (byte === quote) {
          this.#isInString = false
          this.#isItemsKey = this.#spelled === itemsKey.length
        } else if (this.#spelled >= 0) this.#spelled = byte === itemsKey[this.#spelled] ? this.#spelled + 1 : -1
      } else if (byte === quote) {
        this.#isInString = true
        this.#spelled = this.#depth === 1 ? 0 : -1
      } else if (byte === colon) {
        if (this.#depth === 1) this.#isItemsValue = this.#isItemsKey
      } else if (byte === openBrace || byte === openBracket) {
        this.#depth++
        if (byte === openBracket && this.#depth === 2 && this.#isItemsValue) {
          this.#head += this.#take(chunk.subarray(start, at + 1))
          this.#isInItems = true
          start = at + 1
        }
        this.#isItemsValue = false
      } else if (byte === closeBrace || byte === closeBracket) {
        this.#depth--
        if (this.#isInItems && this.#depth === 1) {
          this.#element(chunk.subarray(start, at))
          this.#isInItems = false
          start = at
        }
      } else if (byte === comma && this.#isInItems && this.#depth === 2) {
        this.#element(chunk.subarray(start, at))
        start = at + 1
      }
    }
    this.#parts.push(chunk.subarray(start))
  }

  end(): string {
    return this.#head + this.#take(Buffer.alloc(0))
  }

  #element(last: Buffer): void {
    const text = this.#take(last)
    if (text.trim() !== '') this.#onElement(text)
  }

  #take(last: Buffer): string {
    this.#parts.push(last)
    const text = Buffer.concat(this.#parts).toString('utf8')
    this.#parts = []
    return text
  }
}

function parse(text: string, doing: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new KubeError('protocol', `${doing}: the answer is not complete JSON: ${text.slice(0, 100)}`, {
      cause: error,
    })
  }
}
