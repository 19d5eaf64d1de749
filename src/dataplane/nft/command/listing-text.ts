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
