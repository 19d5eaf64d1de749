/** What is wrong on this node, the worst first. */
import { serviceOfRoute } from '../../../core/route.ts'
import type { Family } from '../../../net/ip.ts'
import type { Overview, Problem } from '../wire.ts'
import type { NodeParts } from './node-parts.ts'

/** Of Services. Who has more of them will not read them one by one. */
const mostShown = 50
const hourMs = 60 * 60 * 1000

type ProblemParts = Pick<NodeParts, 'families' | 'notices' | 'drift' | 'problems' | 'clock'>

export function overviewProblems(parts: ProblemParts, source: Overview['source']): readonly Problem[] {
  const problems = [
    ...sourceProblems(source),
    ...syncProblems(parts),
    ...routeProblems(parts),
    ...parts.problems(),
    ...driftProblems(parts),
    ...noticeProblems(parts),
  ]
  return problems.sort((left, right) => rank[left.severity] - rank[right.severity])
}

const rank: Readonly<Record<Problem['severity'], number>> = { error: 0, warning: 1, note: 2 }

function sourceProblems({ from, state, since, why }: Overview['source']): readonly Problem[] {
  const at = since === undefined ? {} : { at: since }
  const because = why === undefined ? '' : ` (${why})`
  if (state === 'lost')
    return [{ severity: 'error', text: `${from} cannot be reached${because}: what was known before is served`, ...at }]
  if (state === 'saved')
    return [
      { severity: 'warning', text: `${from} has not answered yet${because}: what was saved before is served`, ...at },
    ]
  if (state === 'waiting' && why !== undefined)
    return [{ severity: 'error', text: `${from} has not answered yet${because}: nothing is served`, ...at }]
  return []
}

function syncProblems({ families, clock }: ProblemParts): readonly Problem[] {
  return families.flatMap((family): readonly Problem[] => {
    const { isFailing, lastFailure } = family.syncs() ?? {}
    if (lastFailure === undefined) return []
    const at = new Date(lastFailure.atMs).toISOString()
    const which = familyWords[family.family]
    if (isFailing === true)
      return [{ severity: 'error', text: `the last ${which} sync failed and is retried: ${lastFailure.message}`, at }]
    if (clock.now() - lastFailure.atMs > hourMs) return []
    return [
      { severity: 'note', text: `an ${which} sync failed, and a later one succeeded: ${lastFailure.message}`, at },
    ]
  })
}

function routeProblems({ families }: ProblemParts): readonly Problem[] {
  const failed = families.flatMap((family) => [...family.failedRoutes()].slice(0, mostShown + 1))
  const total = families.reduce((sum, family) => sum + family.failedRoutes().size, 0)
  const shown = failed.slice(0, mostShown).map(([key, why]): Problem => {
    return { severity: 'error', text: `${key} is not programmed: ${why}`, service: serviceOfRoute(key) }
  })
  return total <= mostShown
    ? shown
    : [...shown, { severity: 'error', text: `${total - mostShown} more Service ports are not programmed` }]
}

function driftProblems({ drift, clock }: ProblemParts): readonly Problem[] {
  const since = clock.now() - hourMs
  return drift.last
    .filter(({ atMs }) => atMs >= since)
    .map(({ family, found, atMs, times, repairedAfterMs }) => ({
      severity: repairedAfterMs === undefined ? 'error' : 'warning',
      text: `somebody else changed the ${familyWords[family]} rules${times > 1 ? ` (found ${times} times)` : ''}, ${
        repairedAfterMs === undefined ? 'and they are not repaired yet' : 'they were programmed again'
      }: ${found}`,
      at: new Date(atMs).toISOString(),
    }))
}

function noticeProblems({ notices }: ProblemParts): readonly Problem[] {
  const shown: Problem[] = []
  let more = 0
  for (const service of notices.services()) {
    const texts = shown.length < mostShown ? new Set(notices.about(service).map(({ text }) => text)) : undefined
    if (texts === undefined) more++
    for (const text of texts ?? []) shown.push({ severity: 'warning', text, service })
  }
  if (more > 0) shown.push({ severity: 'warning', text: `${more} more Services need attention` })
  return shown
}

const familyWords: Readonly<Record<Family, string>> = { ipv4: 'IPv4', ipv6: 'IPv6' }
