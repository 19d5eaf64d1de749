import { check } from '../check.ts'
import type { RunningDaemon } from '../evidence/daemon.ts'

export const daemon = check({
  name: 'daemon',
  title: 'the proxy itself',
  systems: ['linux', 'win32', 'darwin'],
  needs: ['daemon'],
  isBeforeStart: false,
  finds: {
    'daemon-not-running': {
      severity: 'error',
      meaning: 'No Fairlead answers on the health port of this node. Rules that are there stay as they are.',
      fix: 'Start it, or look why it ended: journalctl -u fairlead, kubectl logs. Before its first start use --before-start.',
    },
    'daemon-not-answering': {
      severity: 'error',
      meaning: 'Something has the health port of this node and does not answer: the proxy hangs, or gets no CPU time.',
      fix: 'Look at its CPU use and limits, and at its log. Restart it if it hangs.',
    },
    'daemon-unhealthy': {
      severity: 'error',
      meaning: 'The proxy has not managed to program its rules for too long.',
      fix: 'Its log says why: look for "sync failed".',
    },
    'daemon-not-live': {
      severity: 'warning',
      meaning: 'The proxy has no complete list from the API server: it works from saved state, or not at all yet.',
      fix: 'Look at the findings about the API server.',
    },
    'api-contact-lost': {
      severity: 'warning',
      meaning: 'The API server has sent nothing to the proxy for minutes: it may work with old objects.',
      fix: 'Look at the findings about the API server, and at the log of the proxy.',
    },
    'drift-found': {
      severity: 'warning',
      meaning: 'Others have lately changed what the proxy had made. It has repaired it.',
      fix: 'Find out who does it (the evidence names the program where the kernel tells): firewall reloads, hardening jobs.',
    },
  },
  *run({ config }, { daemon: facts }, find) {
    if (facts.kind === 'not-asked') return
    if (facts.kind === 'silent' && facts.isSlow) {
      yield find('daemon-not-answering', { what: `${facts.address} does not answer.`, evidence: facts.reason })
      return
    }
    if (facts.kind === 'silent' || facts.kind === 'stranger') {
      const evidence = facts.kind === 'silent' ? facts.reason : facts.answer
      yield find('daemon-not-running', { what: `No Fairlead answers at ${facts.address}.`, evidence })
      return
    }
    const { health, detail, isHealthy, drift } = facts
    if (!isHealthy)
      yield find('daemon-unhealthy', {
        what: 'The proxy says that it is not healthy.',
        evidence: `lastUpdated ${health.lastUpdated}, currentTime ${health.currentTime}, ${JSON.stringify(health.status ?? {})}`,
      })
    const { state, savedAt } = detail as { readonly state?: string; readonly savedAt?: string }
    if (state !== undefined && state !== 'live')
      yield find('daemon-not-live', {
        what: 'The proxy has no complete list from the API server.',
        evidence: `state: ${state}${savedAt === undefined ? '' : `, saved at ${savedAt}`}`,
      })
    for (const [kind, seconds] of contactAges(facts))
      if (seconds > silentSeconds)
        yield find('api-contact-lost', {
          what: `Nothing about ${kind} has come for ${Math.round(seconds)} s.`,
          evidence: `fairlead_source_last_contact_seconds{kind="${kind}"} ${Math.round(seconds)}`,
        })
    if (drift !== undefined && drift.length > 0)
      yield find('drift-found', {
        what: `Others have changed what the ${config.mode} mode made.`,
        evidence: drift.slice(0, 5).join('\n'),
      })
  },
})

/** Watches send a bookmark each minute, and are made anew every few minutes. */
const silentSeconds = 900

function contactAges({ metrics }: RunningDaemon): readonly (readonly [kind: string, seconds: number])[] {
  return [...(metrics ?? [])].flatMap(([name, value]) => {
    const kind = /^fairlead_source_last_contact_seconds\{kind="(\w+)"\}$/.exec(name)?.[1]
    return kind === undefined ? [] : [[kind, value] as const]
  })
}
