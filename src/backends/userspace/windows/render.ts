/** What a Windows node would run and where it would listen, as text. */
import type { NodeView } from '../../../core/backend.ts'
import { addAddress } from '../../../dataplane/netsh/command-lines.ts'
import { describeListener } from '../describe-listener.ts'
import type { RoutePlan } from '../plan.ts'
import { addressesOf, planWindowsRoute } from './plan.ts'

export interface RenderedWindows {
  /** Commands, for `cmd`. */
  readonly addresses: string
  /** Who serves behind each address, as remarks. */
  readonly listeners: string
}

export interface RenderOptions {
  readonly interfaceName: string
  /** Undefined: node ports are open on all addresses. */
  readonly nodePortIps: readonly string[] | undefined
}

export function renderWindows(view: NodeView, { interfaceName, nodePortIps }: RenderOptions): RenderedWindows {
  const routes = [...view.routesByKey.values()].sort(({ key: a }, { key: b }) => (a < b ? -1 : 1))
  const plans = routes.map((route) => planWindowsRoute(route, view.node, nodePortIps))
  const ips = [...new Set(plans.flatMap(({ listeners }) => addressesOf(listeners)))].sort()
  return {
    addresses: ips.map((ip) => `${renderAddress(interfaceName, ip)}\n`).join(''),
    listeners: plans.flatMap(remarksOn).join(''),
  }
}

/** As somebody would type it. */
export function renderAddress(interfaceName: string, ip: string): string {
  return ['netsh', ...addAddress(interfaceName, ip).map((arg) => (/[\s()]/.test(arg) ? `"${arg}"` : arg))].join(' ')
}

function remarksOn({ key, listeners, problem }: RoutePlan): readonly string[] {
  if (problem !== undefined) return [`# ${key} not served: ${problem}\n`]
  return listeners.map((listener) => `# ${key} ${describeListener(listener, listener.ports[0])}\n`)
}
