/**
 * Reads the output of `iptables-save` while it is printed. For 10,000 services that is 25 MB, which need not be kept in
 * memory: for most chains it is enough to know whether their rules are the expected ones.
 */
import { RulesDigest } from './rules-digest.ts'
import type { RulesByChain } from './save-text.ts'

export interface SavedTables {
  /** By table. */
  readonly rules: ReadonlyMap<string, RulesByChain>
  /** By table, for the chains that are not in `rules`. */
  readonly summaries: ReadonlyMap<string, SummaryByChain>
  /** Lines that begin with `#`. */
  readonly remarks: readonly string[]
}

export type SummaryByChain = ReadonlyMap<string, ChainSummary>

export interface ChainSummary {
  readonly ruleCount: number
  /** See `RulesDigest`. */
  readonly digest: number
}

export const noTables: SavedTables = { rules: new Map(), summaries: new Map(), remarks: [] }

export const noRules: ChainSummary = { ruleCount: 0, digest: 0 }

export interface SaveReaderOptions {
  readonly isSummaryEnough: (table: string, chain: string) => boolean
}

export class SaveReader {
  readonly #isSummaryEnough: SaveReaderOptions['isSummaryEnough']
  readonly #rules = new Map<string, Map<string, string[]>>()
  readonly #summaries = new Map<string, Map<string, ChainSummary>>()
  readonly #remarks: string[] = []
  /** The beginning of a line that is not complete yet. */
  #rest: Buffer = Buffer.alloc(0)
  #table = ''
  /** `-A CHAIN` of the last rule, because the rules of a chain follow each other. */
  #prefix: Buffer = Buffer.alloc(0)
  #chain = ''
  /** The rules of the current chain, unless a summary is enough. */
  #kept: string[] | undefined
  readonly #digest = new RulesDigest()
  #ruleCount = 0

  constructor({ isSummaryEnough }: SaveReaderOptions) {
    this.#isSummaryEnough = isSummaryEnough
  }

  /** A piece may end within a line. It is not kept. */
  add(piece: Buffer): void {
    let start = 0
    if (this.#rest.length > 0) {
      const end = piece.indexOf(newline)
      start = end < 0 ? piece.length : end + 1
      const line = Buffer.concat([this.#rest, piece.subarray(0, start)])
      this.#rest = end < 0 ? line : Buffer.alloc(0)
      if (end >= 0) this.#addLine(line, 0, line.length - 1)
    }
    for (let end = piece.indexOf(newline, start); end >= 0; end = piece.indexOf(newline, start)) {
      this.#addLine(piece, start, end)
      start = end + 1
    }
    if (start < piece.length) this.#rest = Buffer.from(piece.subarray(start))
  }

  end(): SavedTables {
    if (this.#rest.length > 0) this.#addLine(this.#rest, 0, this.#rest.length)
    this.#endChain()
    return { rules: this.#rules, summaries: this.#summaries, remarks: this.#remarks }
  }

  #addLine(bytes: Buffer, start: number, end: number): void {
    const first: number = bytes[start] ?? newline
    switch (first) {
      case hash:
        this.#remarks.push(bytes.toString('utf8', start, end))
        break
      case asterisk:
        this.#endChain()
        this.#table = bytes.toString('latin1', start + 1, end)
        this.#rules.set(this.#table, new Map())
        this.#summaries.set(this.#table, new Map())
        break
      case colon: {
        const chain = bytes.toString('latin1', start + 1, endOfWord(bytes, start + 1, end))
        if (this.#isSummaryEnough(this.#table, chain)) this.#summaries.get(this.#table)?.set(chain, noRules)
        else this.#rules.get(this.#table)?.set(chain, [])
        break
      }
      case dash: {
        if (!this.#isOfSameChain(bytes, start, end)) this.#beginChain(bytes, start, end)
        const ruleStart = Math.min(start + this.#prefix.length + 1, end)
        if (this.#kept === undefined) {
          this.#digest.addBytes(bytes, ruleStart, end)
          this.#ruleCount++
        } else this.#kept.push(bytes.toString('utf8', ruleStart, end))
        break
      }
    }
  }

  #isOfSameChain(bytes: Buffer, start: number, end: number): boolean {
    const prefix = this.#prefix
    const prefixEnd = start + prefix.length
    if (prefix.length === 0 || prefixEnd > end || (prefixEnd < end && bytes[prefixEnd] !== space)) return false
    // Backwards, because names differ mostly at the end.
    for (let at = prefix.length - 1; at >= 0; at--) if (bytes[start + at] !== prefix[at]) return false
    return true
  }

  #beginChain(bytes: Buffer, start: number, end: number): void {
    this.#endChain()
    const nameEnd = endOfWord(bytes, start + 3, end)
    this.#prefix = Buffer.from(bytes.subarray(start, nameEnd))
    this.#chain = bytes.toString('latin1', start + 3, nameEnd)
    if (this.#isSummaryEnough(this.#table, this.#chain)) return
    const chains = this.#rules.get(this.#table)
    this.#kept = chains?.get(this.#chain) ?? []
    chains?.set(this.#chain, this.#kept)
  }

  #endChain(): void {
    if (this.#ruleCount > 0)
      this.#summaries.get(this.#table)?.set(this.#chain, { ruleCount: this.#ruleCount, digest: this.#digest.value })
    this.#digest.reset()
    this.#ruleCount = 0
    this.#prefix = Buffer.alloc(0)
    this.#kept = undefined
  }
}

const newline = 10
const space = 32
const hash = 35
const asterisk = 42
const dash = 45
const colon = 58

function endOfWord(bytes: Buffer, from: number, lineEnd: number): number {
  let at = from
  while (at < lineEnd && bytes[at] !== space) at++
  return at
}
