/** Reads what the tools print of rules with their counters. */
import type { CountedRule, Table } from './iptables.ts'

/** Of `iptables-save --counters`, as it is printed: `[3:180] -A CHAIN RULE`. */
export class CounterReader {
  readonly #onRule: (rule: CountedRule) => void
  readonly #decoder = new TextDecoder()
  #rest = ''
  /** Of those that we know. */
  #table: Table | undefined

  constructor(onRule: (rule: CountedRule) => void) {
    this.#onRule = onRule
  }

  /** A piece may end within a line. */
  add(piece: Buffer): void {
    const lines = (this.#rest + this.#decoder.decode(piece, { stream: true })).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#addLine(line)
  }

  #addLine(line: string): void {
    if (line.startsWith('*')) this.#table = tables.find((table) => table === line.slice(1))
    const [, packets, chain = '', rule = ''] = savedLine.exec(line) ?? []
    if (packets !== undefined && this.#table !== undefined)
      this.#onRule({ table: this.#table, chain, rule, packets: Number(packets) })
  }
}

/** Of `iptables -v -S CHAIN`: `-A CHAIN RULE -c 3 180 -j TARGET`. */
export function countedRulesOfListing(listing: string, table: Table): readonly CountedRule[] {
  return listing.split('\n').flatMap((line) => {
    const [, chain = '', before = '', packets, after = ''] = listedLine.exec(line) ?? []
    return packets === undefined ? [] : [{ table, chain, rule: `${before}${after}`.trim(), packets: Number(packets) }]
  })
}

const tables: readonly Table[] = ['filter', 'nat', 'mangle']
const savedLine = /^\[(\d+):\d+\] -A (\S+) ?(.*)$/
/** The last one: a comment may look like it, but comments come before. */
const listedLine = /^-A (\S+) ?(.*)-c (\d+) \d+ ?(.*)$/
