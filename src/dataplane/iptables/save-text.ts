/**
 * Parses the output of `iptables-save`. A node with 10,000 services prints 140,000 lines, so this reads the text once and
 * slices it instead of using regular expressions. The slices keep the whole text in memory, so do not keep them long.
 */

/** The rules of each chain in order, without the leading `-A CHAIN `. An empty chain has an empty list. */
export type RulesByChain = ReadonlyMap<string, readonly string[]>

/** By table. */
export function parseSave(saved: string): ReadonlyMap<string, RulesByChain> {
  const steps = parseInSteps(saved)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** The same in parts, so that it does not block the event loop: a large text takes a tenth of a second. */
export async function parseSaveInTurns(saved: string): Promise<ReadonlyMap<string, RulesByChain>> {
  const steps = parseInSteps(saved)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    await new Promise(setImmediate)
  }
}

/** The rules that `iptables -S CHAIN` prints, without `-A CHAIN`. The first line declares the chain. */
export function rulesOfListing(listing: string, chain: string): readonly string[] {
  const start = `-A ${chain}`
  return listing
    .split('\n')
    .filter((line) => line.startsWith(start))
    .map((line) => line.slice(start.length + 1))
}

const linesPerStep = 5000

function* parseInSteps(saved: string): Generator<void, ReadonlyMap<string, RulesByChain>> {
  const tables = new Map<string, Map<string, string[]>>()
  let chains = new Map<string, string[]>()
  /** `-A CHAIN ` of the last rule. The rules of a chain follow each other, so this mostly saves the lookup. */
  let prefix = '-A '
  let rules: string[] = []
  let lines = 0
  for (let start = 0; start < saved.length;) {
    if (++lines % linesPerStep === 0) yield
    const newline = saved.indexOf('\n', start)
    const end = newline < 0 ? saved.length : newline
    switch (saved.charCodeAt(start)) {
      case asterisk:
        chains = new Map()
        prefix = '-A '
        tables.set(saved.slice(start + 1, end), chains)
        break
      case colon:
        chains.set(saved.slice(start + 1, saved.indexOf(' ', start)), [])
        break
      case dash:
        if (prefix.length === 3 || !saved.startsWith(prefix, start)) {
          const nameEnd = endOfWord(saved, start + 3, end)
          const chain = saved.slice(start + 3, nameEnd)
          prefix = `-A ${chain} `
          rules = chains.get(chain) ?? newList(chains, chain)
        }
        rules.push(saved.slice(Math.min(start + prefix.length, end), end))
        break
    }
    start = end + 1
  }
  return tables
}

const asterisk = 42
const dash = 45
const colon = 58

function endOfWord(text: string, from: number, lineEnd: number): number {
  const at = text.indexOf(' ', from)
  return at < 0 || at > lineEnd ? lineEnd : at
}

function newList(chains: Map<string, string[]>, chain: string): string[] {
  const list: string[] = []
  chains.set(chain, list)
  return list
}
