/** Which rules of the kernel belong to no route, and damage to one that does. */
import type { PlannedPiece } from '../../../core/inspection.ts'
import type { Iptables, Table } from '../iptables.ts'
import { parseSave } from '../save-text.ts'

const never = new AbortController().signal

/** As lines `nat/CHAIN: -A CHAIN …` and `nat: :CHAIN - [0:0]`; those with one of these chains are fixed. */
export async function unexplainedRules(
  kernel: Pick<Iptables, 'saveAll'>,
  pieces: readonly PlannedPiece[],
  isFixed: (chain: string, rule: string) => boolean,
): Promise<readonly string[]> {
  const explained = new Set(pieces.map(({ where, text }) => `${where}: ${text}`))
  const lines: string[] = []
  for (const [table, chains] of parseSave(await kernel.saveAll(never)))
    for (const [chain, rules] of chains) {
      if (!isFixed(chain, '')) lines.push(`${table}: :${chain} - [0:0]`)
      for (const rule of rules) if (!isFixed(chain, rule)) lines.push(`${table}/${chain}: -A ${chain} ${rule}`)
    }
  return lines.filter((line) => !explained.has(line))
}

/**
 * A chain cannot go while a rule leads to it, and the tools do not find a rule with `recent` by what they print of it; so
 * these get a rule too much.
 */
export async function spoilRule(
  kernel: Pick<Iptables, 'restore'>,
  { kind, where, text }: PlannedPiece,
): Promise<boolean> {
  const [table, chain = text.slice(1).split(' ')[0]] = where.split('/') as [Table, string?]
  const isHeld = kind === 'chain' || text.includes(' -m recent ')
  const line = isHeld ? `-A ${chain} -j RETURN` : text.replace(/^-A/, '-D')
  await kernel.restore(`*${table}\n${line}\nCOMMIT\n`, never)
  return true
}
