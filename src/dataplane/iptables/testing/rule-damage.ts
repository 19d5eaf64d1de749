/** Damage by other programs: to one of our chains, or to the jumps to them. */
import fc from 'fast-check'
import type { Iptables } from '../iptables.ts'
import { parseSave } from '../save-text.ts'

const kinds = ['empty', 'delete', 'add', 'replace', 'leftover'] as const

export interface RuleDamage {
  readonly kind: (typeof kinds)[number]
  /** Chooses the table and the chain. */
  readonly where: number
  /** Chooses the rule. */
  readonly which: number
}

const never = new AbortController().signal

/** A leftover is a chain that another process left; not every mode removes those. */
export function anyRuleDamage({ leftovers }: { readonly leftovers: boolean }): fc.Arbitrary<RuleDamage> {
  const possible = kinds.filter((kind) => leftovers || kind !== 'leftover')
  return fc.record({ kind: fc.constantFrom(...possible), where: fc.nat(), which: fc.nat() })
}

export async function doRuleDamage(
  kernel: Pick<Iptables, 'save' | 'restore'>,
  { kind, where, which }: RuleDamage,
): Promise<void> {
  const table = where % 2 === 0 ? 'nat' : 'filter'
  const chains = [...(parseSave(await kernel.save(table, never)).get(table) ?? [])].filter(
    ([name]) => name.startsWith('KUBE-') || name === 'PREROUTING' || name === 'FORWARD',
  )
  const [chain, rules] = chains[where % chains.length] ?? ['', []]
  const rule = rules[which % Math.max(1, rules.length)]
  const isOurs = chain.startsWith('KUBE-')
  const lines: string[] = []
  if (kind === 'leftover') lines.push(`:KUBE-SVC-GONE${which % 3} - [0:0]`, `-A KUBE-SVC-GONE${which % 3} -j RETURN`)
  else if (kind === 'empty' && isOurs) lines.push(`-F ${chain}`)
  else if (kind === 'add' && isOurs) lines.push(`-I ${chain} -j RETURN`)
  else if (rule !== undefined) {
    lines.push(`-D ${chain} ${rule}`)
    if (kind === 'replace' && isOurs) lines.push(`-I ${chain} -j RETURN`)
  }
  await kernel.restore([`*${kind === 'leftover' ? 'nat' : table}`, ...lines, 'COMMIT', ''].join('\n'), never)
}
