/**
 * Finds the addresses in what `netsh interface … show address` prints. Its labels are in the language of the machine, in a
 * code page that we do not know, so only the shape of a line tells.
 */
import { parseIp } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'

/** Canonical text. */
export function parseAddresses(printed: string, family: Family): readonly string[] {
  const lines = printed.split(/\r?\n/).filter((line) => line.trim() !== '')
  return [...new Set(family === 'ipv4' ? v4Addresses(lines) : v6Addresses(lines))]
}

/** `label: 10.96.0.3`. A colon that is two bytes wide is unreadable in the wrong code page. */
const labelled = /[:：\uFFFD]\s*(\d+\.\d+\.\d+\.\d+)\s*$/
/** `label: 10.96.0.0/16 (mask 255.255.0.0)` */
const prefix = /\d+\.\d+\.\d+\.\d+\/\d+/

/** A gateway has the shape of an address; but each address is followed by its prefix, where prefixes are shown. */
function v4Addresses(lines: readonly string[]): readonly string[] {
  const hasPrefixes = lines.some((line) => prefix.test(line))
  return lines.flatMap((line, index) => {
    const text = labelled.exec(line)?.[1]
    const isAddress = !hasPrefixes || prefix.test(lines[index + 1] ?? '')
    return text === undefined || !isAddress ? [] : (parseIp(text) ?? [])
  })
}

/** Two layouts, and in both the address is a word of its own: `Address fd00::1 Parameters`, or at the end of a row. */
function v6Addresses(lines: readonly string[]): readonly string[] {
  const words = lines.flatMap((line) => line.split(/\s+/)).filter((word) => word.includes(':'))
  // What follows the percent sign is the interface.
  return words.flatMap((word) => parseIp(word.replace(/%.*$/, '')) ?? []).filter((ip) => ip.includes(':'))
}
