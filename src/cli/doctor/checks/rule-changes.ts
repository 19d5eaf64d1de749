import { check } from '../check.ts'
import { withChildren } from '../evidence/processes.ts'
import { usesIptables, usesRules } from '../setup.ts'

export const ruleChanges = check({
  name: 'rule-changes',
  title: 'who changes rules while we look',
  needs: ['ruleChanges', 'processes'],
  isBeforeStart: false,
  concerns: usesRules,
  finds: {
    'rules-changing': {
      severity: 'note',
      meaning: 'Another program has changed rules of nf_tables within the second in which we looked.',
      fix: 'Find out what it is. A proxy that fights with another shows like this.',
    },
  },
  *run(setup, { ruleChanges: changes, processes: { all, fairleads } }, find) {
    const ours = withChildren(new Set(fairleads.map(({ pid }) => pid)), all)
    // The iptables that Fairlead runs are gone by now, so nobody can tell whose they were.
    const mayBeOurs = (process: string) => usesIptables(setup) && fairleads.length > 0 && /^ip6?tables/.test(process)
    const others = changes.filter(({ pid, process }) => !mayBeOurs(process) && (pid === undefined || !ours.has(pid)))
    if (others.length === 0) return
    yield find('rules-changing', {
      what: 'Rules of nf_tables change while we look.',
      evidence: others.map(({ process, count }) => `${process}: ${count} times`).join('\n'),
    })
  },
})
