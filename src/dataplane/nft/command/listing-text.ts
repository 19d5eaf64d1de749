/** Reads `nft --terse list table`. The JSON form of nft 1.0.6 leaves the comment of a table out. */
import type { TableListing } from '../nft.ts'

/** Goes by the indentation: an object of the table is one tab in, what belongs to it two. */
export function parseTableListing(printed: string): TableListing {
  const chains: string[] = []
  const sets: string[] = []
  let comment = ''
  for (const line of printed.split('\n')) {
    const [, kind, name = ''] = /^\t(chain|set|map) (\S+) \{$/.exec(line) ?? []
    if (kind === 'chain') chains.push(name)
    else if (kind !== undefined) sets.push(name)
    else comment = /^\tcomment "(.*)"$/.exec(line)?.[1] ?? comment
  }
  return { comment, chains, sets }
}

/** Of the wanted chains. What is not a rule at the start of a chain is what the chain was declared with. */
export function parseRules(printed: string, wanted: ReadonlySet<string>): ReadonlyMap<string, readonly string[]> {
  const rulesByChain = new Map<string, string[]>()
  let rules: string[] | undefined
  for (const line of printed.split('\n')) {
    const [, chain] = /^\tchain (\S+) \{$/.exec(line) ?? []
    if (chain !== undefined) {
      rules = wanted.has(chain) ? [] : undefined
      if (rules !== undefined) rulesByChain.set(chain, rules)
    } else if (line === '\t}') rules = undefined
    else if (rules !== undefined && !isDeclaration(line)) rules.push(withoutUsualBurst(line.trim()))
  }
  return rulesByChain
}

/** Some versions of nft print it, others take it for granted. */
function withoutUsualBurst(rule: string): string {
  return rule.replace('/second burst 5 packets', '/second')
}

function isDeclaration(line: string): boolean {
  return /^\t\t(comment "|type \S+ hook )/.test(line)
}
