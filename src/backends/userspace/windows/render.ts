/** What a Windows node would run and where it would listen, as text. */
import type { NodeView } from '../../../core/backend.ts'
import type { RouteKey } from '../../../core/route.ts'
import { addAddress } from '../../../dataplane/netsh/command-lines.ts'
import { hostPort } from '../../../net/ip.ts'
import type { PlannedListener, RoutePlan } from '../plan.ts'
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
    addresses: ips.map((ip) => `${commandLine(addAddress(interfaceName, ip))}\n`).join(''),
    listeners: plans.flatMap(remarksOn).join(''),
  }
}

/** As somebody would type it. */
function commandLine(args: readonly string[]): string {
  return ['netsh', ...args.map((arg) => (/[\s()]/.test(arg) ? `"${arg}"` : arg))].join(' ')
}

function remarksOn({ key, listeners, problem }: RoutePlan): readonly string[] {
  if (problem !== undefined) return [`# ${key} not served: ${problem}\n`]
  return listeners.map((listener) => remarkOn(key, listener))
}

function remarkOn(key: RouteKey, { purpose, ip, ports: [port], allowedSources, pool }: PlannedListener): string {
  const endpoints = pool.endpoints.map((endpoint) => hostPort(endpoint.ip, endpoint.port)).join(' ') || 'nobody'
  const from = allowedSources.map(({ network, prefixLength }) => `${network}/${prefixLength}`).join(' ')
  const notes = [
    ...(from === '' ? [] : [`only from ${from}`]),
    ...(pool.affinitySeconds > 0 ? [`client affinity ${pool.affinitySeconds} s`] : []),
  ]
  const note = notes.length === 0 ? '' : ` (${notes.join('; ')})`
  return `# ${key} ${purpose} ${hostPort(ip, port)} -> ${endpoints}${note}\n`
}
