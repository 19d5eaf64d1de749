/**
 * Compares two texts of iptables-save. The order of rules within a chain matters; the order between Services in a chain
 * that all of them share does not, because kube-proxy walks a Go map there.
 */
import { parseSave } from '../../src/dataplane/iptables/save-text.ts'

/** nat/KUBE-SERVICES ends with rules for node ports: their place is part of the comparison. */
const lastRules = 'NOTE: this must be the last rule in this chain'
export const sharedChains: ReadonlySet<string> = new Set([
  'KUBE-SERVICES',
  'KUBE-NODEPORTS',
  'KUBE-EXTERNAL-SERVICES',
  'KUBE-PROXY-FIREWALL',
])

/** Lines that differ, `-` for what is missing and `+` for what is too much; empty when the rulesets are equal. */
export function rulesetDifferences(
  actual: string,
  expected: string,
  /** The chains whose order does not matter. */
  unorderedChains: ReadonlySet<string> = sharedChains,
): readonly string[] {
  const ours = comparableLines(actual, unorderedChains)
  const theirs = comparableLines(expected, unorderedChains)
  const ourLines = new Set(ours)
  const theirLines = new Set(theirs)
  return [
    ...theirs.filter((line) => !ourLines.has(line)).map((line) => `- ${line}`),
    ...ours.filter((line) => !theirLines.has(line)).map((line) => `+ ${line}`),
  ]
}

/** One line for each chain and rule, numbered by its place where the place matters. */
export function comparableLines(text: string, unorderedChains: ReadonlySet<string>): string[] {
  const lines: string[] = []
  for (const [table, chains] of parseSave(withoutCounters(text)))
    for (const [chain, rules] of chains) {
      lines.push(`${table}/${chain}`)
      const occurrences = new Map<string, number>()
      for (const [index, rule] of rules.entries()) {
        const seen = (occurrences.get(rule) ?? 0) + 1
        occurrences.set(rule, seen)
        const fromEnd = index - rules.length
        const place = !unorderedChains.has(chain) ? index : rule.includes(lastRules) ? fromEnd : `any (${seen})`
        lines.push(`${table}/${chain} ${place}: ${rule.replace(/ {2,}/g, ' ')}`)
      }
    }
  return lines
}

function withoutCounters(text: string): string {
  return text.replace(/^\[\d+:\d+\] /gm, '')
}
