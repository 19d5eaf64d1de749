import type { NftTable, SetDeclaration } from '../../../dataplane/nft/nft.ts'

const never = new AbortController().signal

/** The names of all chains and sets, and all elements. */
export async function tableSummary(
  table: Pick<NftTable, 'list' | 'elements'>,
  declarationOf: (set: string) => SetDeclaration,
): Promise<readonly string[]> {
  const { comment = '', chains = [], sets = [] } = (await table.list(never)) ?? {}
  const lines = [`table: ${comment}`, ...chains.map((name) => `chain ${name}`)]
  for (const name of sets) {
    lines.push(`set ${name}`)
    for (const [key, { value }] of await table.elements(declarationOf(name), never))
      lines.push(`set ${name}: ${key} : ${value}`)
  }
  return lines.sort()
}
