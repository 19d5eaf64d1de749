/** Reads what `ipset save` prints. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Family } from '../../net/ip.ts'
import { canonicalEntry } from './entry-text.ts'
import type { ListedSet } from './ipset.ts'

/** So many lines take a few milliseconds; then others get their turn. */
const linesPerTurn = 10_000

export async function parseSaved(text: string): Promise<readonly ListedSet[]> {
  const setsByName = new Map<string, ListedSet & { readonly entries: Set<string> }>()
  let lines = 0
  for (let at = 0; at < text.length;) {
    const newline = text.indexOf('\n', at)
    const end = newline < 0 ? text.length : newline
    const [verb, name = '', what = '', ...more] = text.slice(at, end).split(' ')
    at = end + 1
    if (verb === 'create') setsByName.set(name, { name, type: what, family: familyIn(more), entries: new Set() })
    // An entry that we would not write ourselves is listed as it is, so that it can be deleted.
    else if (verb === 'add') setsByName.get(name)?.entries.add(canonicalEntry(what) ?? what)
    if (++lines % linesPerTurn === 0) await nextTurn()
  }
  return [...setsByName.values()]
}

function familyIn(words: readonly string[]): Family | undefined {
  const family = words[words.indexOf('family') + 1]
  return family === 'inet' ? 'ipv4' : family === 'inet6' ? 'ipv6' : undefined
}
