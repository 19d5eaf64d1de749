/** `/debug/rules`: what the mode has programmed: all of it as text, or what one Service has, piece by piece. */
import type { RenderedPart } from '../../core/backend.ts'
import type { Inspection, PlannedPiece } from '../../core/inspection.ts'
import type { Family } from '../../net/ip.ts'
import { refused } from '../http/debug/debug-page.ts'
import type { DebugAnswer, DebugPage } from '../http/debug/debug-page.ts'
import { familiesAsked, isAsked } from './asked.ts'
import type { InspectedFamily } from './inspected-family.ts'
import type { PacedReading } from './paced-reading.ts'

/** What a Service port has. */
interface RouteRules {
  /** `NAMESPACE/NAME:PORT/PROTOCOL` */
  readonly route: string
  readonly family: Family
  /** With `state`, and `found` where something else is there, if they were read back. */
  readonly pieces: readonly PlannedPiece[]
  readonly notRead?: string
}

export interface RulesPageOptions {
  readonly families: readonly InspectedFamily[]
  readonly reading: PacedReading
}

export function rulesPage({ families, reading }: RulesPageOptions): DebugPage {
  return {
    path: '/debug/rules',
    about:
      'all that is programmed, as text: ?family=ipv4, ?part=NAME; or what one Service has: ?service=NAMESPACE/NAME, compared with what is there with &actual=1',
    shorter: 'with ?family=ipv4, ?part=NAME or ?service=NAMESPACE/NAME',
    async answer({ query }, signal) {
      const chosen = familiesAsked(families, query)
      if (typeof chosen === 'string') return refused(400, chosen)
      const service = query.get('service')
      if (service !== null)
        return rulesOfService(service, chosen, isAsked(query, 'actual') ? reading : undefined, signal)
      if (isAsked(query, 'actual'))
        return refused(400, 'actual=1 needs service=NAMESPACE/NAME; whether all is as written says /debug/drift?now=1')
      return allRules(chosen, query.get('part'))
    },
  }
}

async function rulesOfService(
  service: string,
  families: readonly InspectedFamily[],
  reading: PacedReading | undefined,
  signal: AbortSignal,
): Promise<DebugAnswer> {
  const [namespace = '', name = '', ...rest] = service.split('/')
  if (namespace === '' || name === '' || rest.length > 0)
    return refused(400, `service=${service} names no Service: ask with service=NAMESPACE/NAME`)
  const routes: RouteRules[] = []
  for (const each of families)
    for (const route of each.view().routesByKey.values()) {
      if (route.namespace !== namespace || route.name !== name) continue
      const held = await heldFor(route.key, each, reading, signal)
      if (held !== undefined) routes.push({ route: route.key, family: each.family, ...held })
    }
  if (routes.length === 0)
    return refused(
      404,
      `nothing is programmed for a Service ${service}; /debug/services/${service} says what is known of it`,
    )
  return { kind: 'json', value: { service, routes } }
}

async function heldFor(
  key: Parameters<InspectedFamily['inspect']>[0],
  family: InspectedFamily,
  reading: PacedReading | undefined,
  signal: AbortSignal,
): Promise<Inspection | { readonly pieces: readonly PlannedPiece[] } | undefined> {
  if (reading !== undefined) return reading.run(() => family.inspect(key, signal), signal)
  const pieces = await family.pieces(key)
  return pieces && { pieces }
}

async function allRules(families: readonly InspectedFamily[], part: string | null): Promise<DebugAnswer> {
  const sections: (RenderedPart & { readonly family: Family })[] = []
  const unknown: Family[] = []
  for (const each of families) {
    const parts = await each.rendered()
    if (parts === undefined) unknown.push(each.family)
    else sections.push(...parts.map((one) => ({ ...one, family: each.family })))
  }
  const chosen = sections.filter((section) => part === null || section.part === part)
  if (chosen.length === 0 && sections.length > 0)
    return refused(
      400,
      `there is no part=${part}: use one of ${[...new Set(sections.map((one) => one.part))].join(', ')}`,
    )
  const remarks = unknown.map((family) => `# ${family}: nothing is programmed yet, or the last sync has failed\n`)
  // One alone is what its tool reads; several need a line between them, which every tool takes as a remark.
  const texts = chosen.map((one) =>
    chosen.length === 1 && unknown.length === 0 ? one.text : `# ${one.family}, part ${one.part}\n${one.text}`,
  )
  return { kind: 'text', text: [...remarks, ...texts].join('') }
}
