import type { Leftover } from '../../../core/leftover.ts'
import { check } from '../check.ts'

export const leftovers = check({
  name: 'leftovers',
  title: 'what other proxies and other modes have left',
  systems: ['linux', 'win32'],
  needs: ['leftovers', 'daemon'],
  finds: {
    leftovers: {
      severity: 'warning',
      meaning:
        'Rules of another proxy or mode are there, beside those of the mode that runs, and may catch its packets.',
      fix: 'If no other proxy runs, restart Fairlead: it removes them. fairlead --cleanup --dry-run lists them, but also what the running Fairlead uses: do not clean up while it runs.',
    },
    'leftovers-before-start': {
      severity: 'note',
      meaning: 'Another proxy or mode has left rules. Fairlead removes them once its own are complete.',
      fix: 'Nothing, unless that proxy still runs: stop it first.',
    },
    'leftovers-stuck': {
      severity: 'warning',
      meaning: 'Something of another proxy is there and cannot be removed from here.',
      fix: 'Install the tool that the evidence names, then fairlead --cleanup.',
    },
  },
  *run({ config, isBeforeStart }, { leftovers: { leftovers: all, problems }, daemon }, find) {
    const others = all.filter(({ modes }) => !modes.includes(config.mode))
    const willGo = isBeforeStart || daemon.kind !== 'runs'
    if (others.length > 0)
      yield find(willGo ? 'leftovers-before-start' : 'leftovers', {
        what: `${others.length} things of another proxy or mode are on this node.`,
        evidence: shown(others),
      })
    for (const problem of problems)
      yield find('leftovers-stuck', { what: 'Something of another proxy cannot be removed.', evidence: problem })
  },
})

const mostShown = 5

function shown(leftovers: readonly Leftover[]): string {
  const lines = leftovers.slice(0, mostShown).map(({ what, reason }) => `${what} (${reason})`)
  const more = leftovers.length - lines.length
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('\n')
}
