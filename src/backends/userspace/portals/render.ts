/** The portals of a view as a script for `iptables-restore`, with proxy ports that stand in for those of a node. */
import type { NodeView } from '../../../core/backend.ts'
import type { PlannedPiece } from '../../../core/inspection.ts'
import type { RouteKey } from '../../../core/route.ts'
import { allRulePieces, rulePieces } from '../../../dataplane/iptables/language/rule-pieces.ts'
import { describeListener } from '../describe-listener.ts'
import { listenerPieces } from '../pieces.ts'
import type { PlannedListener, RoutePlan } from '../plan.ts'
import type { Listening } from '../route-listeners.ts'
import { renderDelivery, writeAnswerRules } from './answer-rules.ts'
import { keepsSomebody } from './doors.ts'
import { fullInput } from './full-input.ts'
import { planListeners, portsOf } from './plan-listeners.ts'
import { planPortal, planPortals } from './plan.ts'
import type { PlannedPortal } from './plan.ts'
import type { PortalSettings } from './settings.ts'

/** A node takes whichever is free. */
const standInPorts = { first: 40_000, last: 65_535 }

export interface RenderedPortals {
  /** Input for `iptables-restore`, for an empty network namespace. */
  readonly rules: string
  /** Who serves behind each port, as remarks: they may stand in the same script. */
  readonly listeners: string
  /** Commands that lead answers back where pods see the client's address; as remarks, and none without such a Service. */
  readonly routing: string
}

export function renderPortals(view: NodeView, settings: PortalSettings): RenderedPortals {
  const nextPort = standIns()
  const portalsByKey = new Map<RouteKey, PlannedPortal>()
  const remarks: string[] = []
  for (const route of [...view.routesByKey.values()].sort(byKey)) {
    const plan = planListeners(route, settings)
    const listening = plan.listeners.map((listener) => pretend(listener, nextPort))
    portalsByKey.set(route.key, planPortal(route, portsOf(route, settings, listening), settings))
    remarks.push(...remarksOn(plan, listening))
  }
  const plan = planPortals(portalsByKey.keys(), (key) => portalsByKey.get(key), settings)
  const input = fullInput(plan, { filter: new Map(), nat: new Map() })
  const { family } = settings
  const keeps = [...view.routesByKey.values()].some((route) => keepsSomebody(route, settings))
  if (keeps) writeAnswerRules(new Map(), family, input)
  return { rules: input.render(), listeners: remarks.join(''), routing: keeps ? renderDelivery(family) : '' }
}

/** Of one route: its rules, then its listeners. The ports stand in for those of a node. */
export function portalPieces(view: NodeView, settings: PortalSettings, key: RouteKey): readonly PlannedPiece[] {
  const route = view.routesByKey.get(key)
  if (route === undefined) return []
  const nextPort = standIns()
  const plan = planListeners(route, settings)
  const listening = plan.listeners.map((listener) => pretend(listener, nextPort))
  const { rendered } = planPortal(route, portsOf(route, settings, listening), settings)
  const portsById = new Map(listening.map(({ id, address }) => [id, address.port]))
  return [
    ...allRulePieces(rulePieces(rendered, settings.family)),
    ...listenerPieces(plan, ({ id }) => portsById.get(id)).map(({ piece }) => piece),
  ]
}

type NextPort = () => number

function standIns(): NextPort {
  const { first, last } = standInPorts
  let used = 0
  return () => first + (used++ % (last - first + 1))
}

function pretend(planned: PlannedListener, nextPort: NextPort): Listening {
  const { id, ip, protocol, purpose, pool, ports } = planned
  const [port] = ports
  return { id, pool: pool.id, address: { ip, protocol, purpose, port: port === 0 ? nextPort() : port } }
}

function remarksOn({ key, listeners, problem }: RoutePlan, listening: readonly Listening[]): readonly string[] {
  if (problem !== undefined) return [`# ${key} not served: ${problem}\n`]
  return listeners.map(
    (listener, index) => `# ${key} ${describeListener(listener, listening[index]?.address.port ?? 0)}\n`,
  )
}

function byKey(left: { readonly key: string }, right: { readonly key: string }): number {
  return left.key < right.key ? -1 : 1
}
