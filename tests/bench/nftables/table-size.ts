/** How much a proxy has put into its table of IPv4. */
import { execFileSync } from 'node:child_process'
import type { Namespace } from '../../packet/testing/namespace.ts'

export interface TableSize {
  readonly chains: number
  /** Sets and maps that have a name. */
  readonly sets: number
  /** Those inside of rules. The kernel has them in the same list. */
  readonly anonymousSets: number
}

export function tableSize(namespace: Namespace, table: string): TableSize {
  // With kube-proxy, megabytes of text, and many seconds.
  const listed = namespace.enter(() =>
    execFileSync('nft', ['--terse', 'list', 'table', 'ip', table], { encoding: 'utf8', maxBuffer: 2 ** 28 }),
  )
  const count = (pattern: RegExp) => [...listed.matchAll(pattern)].length
  return {
    chains: count(/^\tchain /gm),
    sets: count(/^\t(?:set|map) /gm),
    // One whose elements are not shown, because the listing is terse, has braces all the same.
    anonymousSets: count(/^\t\t.* (?:v?map|[ds]addr|!=) \{/gm),
  }
}
