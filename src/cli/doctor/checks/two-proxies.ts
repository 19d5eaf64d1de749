import type { RunningProcess } from '../../../host/processes.ts'
import { check } from '../check.ts'

export const twoProxies = check({
  name: 'two-proxies',
  title: 'whether another proxy is at work',
  needs: ['processes'],
  finds: {
    'kube-proxy-running': {
      severity: 'error',
      meaning: 'kube-proxy runs on this node too: both write rules for the same addresses.',
      fix: 'Stop it: kubectl -n kube-system delete daemonset kube-proxy (or patch its nodeSelector), or stop its service.',
    },
    // The lock of the proxies sees to it that one of them programs the node.
    'two-fairleads': {
      severity: 'warning',
      meaning:
        'Two Fairleads run on this node. One programs it; the other waits for its end, or has handed over and keeps its last connections.',
      fix: 'If that is no upgrade, stop one of them. The log of each says which it is: see docs/upgrade.md.',
    },
  },
  *run({ isBeforeStart }, { processes: { kubeProxies, fairleads } }, find) {
    for (const process of kubeProxies)
      yield find('kube-proxy-running', { what: 'kube-proxy runs on this node.', evidence: shown(process) })
    if (fairleads.length > (isBeforeStart ? 0 : 1))
      yield find('two-fairleads', {
        what: isBeforeStart ? 'A Fairlead runs on this node already.' : 'Two Fairleads run on this node.',
        evidence: fairleads.map(shown).join('\n'),
      })
  },
})

export function shown({ pid, args }: Pick<RunningProcess, 'pid' | 'args'>): string {
  const line = args.join(' ')
  return `process ${pid}: ${line.length > 160 ? `${line.slice(0, 160)}…` : line}`
}
