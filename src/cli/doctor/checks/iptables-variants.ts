import { check } from '../check.ts'
import type { IptablesTables } from '../evidence/iptables.ts'

/** Rules in both variants: each works, but people and programs see one of them only. */
export const iptablesVariants = check({
  name: 'iptables-variants',
  title: 'rules in both variants of iptables',
  needs: ['iptables'],
  finds: {
    'iptables-variants-mixed': {
      severity: 'warning',
      meaning: 'Rules are in iptables-nft and in iptables-legacy at once: each tool shows and changes only its own.',
      fix: 'Move all of them to one variant (update-alternatives --config iptables), then flush the other.',
    },
    'iptables-tables-unreadable': {
      severity: 'warning',
      meaning: 'The kernel holds legacy tables, and no tool is here to read them.',
      fix: 'Install iptables-legacy to see and clean them.',
    },
  },
  *run(_, { iptables: { looks } }, find) {
    for (const family of new Set(looks.map((look) => look.family))) {
      const [nft, legacy] = (['nf_tables', 'legacy'] as const).map((variant) =>
        looks.find((look) => look.family === family && look.variant === variant),
      )
      const counts = [ruleCount(nft), ruleCount(legacy)]
      if (counts.every((count) => count > 0))
        yield find('iptables-variants-mixed', {
          what: `Both variants of iptables hold ${family} rules.`,
          evidence: `${nft?.tool ?? 'iptables-nft'}: ${ruleText(counts[0])}; ${legacy?.tool ?? 'iptables-legacy'}: ${ruleText(counts[1])}`,
        })
    }
    for (const { family, tool, unseenTables } of looks)
      if (tool === undefined && unseenTables.length > 0)
        yield find('iptables-tables-unreadable', {
          what: `Legacy ${family} tables cannot be read.`,
          evidence: `the kernel has ${unseenTables.join(', ')}`,
        })
  },
})

function ruleCount(look: IptablesTables | undefined): number {
  if (look === undefined) return 0
  const { rules, summaries } = look.saved
  const kept = [...rules.values()].flatMap((chains) => [...chains.values()].map(({ length }) => length))
  const summed = [...summaries.values()].flatMap((chains) => [...chains.values()].map((summary) => summary.ruleCount))
  return [...kept, ...summed].reduce((sum, count) => sum + count, 0)
}

function ruleText(count = 0): string {
  return `${count} ${count === 1 ? 'rule' : 'rules'}`
}
