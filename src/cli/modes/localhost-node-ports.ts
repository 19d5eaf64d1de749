/**
 * Node ports on 127.0.0.1 and ::1, in a mode that does not have them of its own: listeners of this process, which relay as
 * in the userspace mode. They are there only if `localhostNodePorts` asks for them, and only where the mode itself does
 * not answer.
 */
import { listenerPieces } from '../../backends/userspace/pieces.ts'
import { planRoute } from '../../backends/userspace/plan.ts'
import type { RoutePlan } from '../../backends/userspace/plan.ts'
import { describeListener } from '../../backends/userspace/describe-listener.ts'
import { localhostTraits } from '../../backends/userspace/traits.ts'
import type { FairleadConfig } from '../../config/proxy-config.ts'
import type { NodeView } from '../../core/backend.ts'
import type { ModeTraits } from '../../core/explain/mode-traits.ts'
import { isOpenForNodePorts } from '../../core/explain/places.ts'
import type { Route } from '../../core/route.ts'
import { loopbackIps } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { besideBackend } from './beside-backend.ts'
import { endingWith } from './ending-with.ts'
import type { Mode, ModeContext, ModeOnNode, ModeSettings, RenderSettings } from './mode.ts'

export function withLocalhostNodePorts(mode: Mode): Mode {
  return {
    ...mode,
    traits: (config, ebpf) => withListeners(mode.traits(config, ebpf), config),
    onNode: (context) => besideListeners(mode.onNode(context), context),

    render(view, settings) {
      const parts = mode.render(view, settings)
      if (!mayListen(settings.config)) return parts
      const plans = [...view.routesByKey.values()].flatMap((route) => planOf(mode, view, settings, route))
      const lines = plans.flatMap(({ key, listeners }) =>
        listeners.map((listener) => `# ${key} ${describeListener(listener, listener.ports[0])}\n`),
      )
      return [...parts, { part: 'listeners', text: lines.join('') }]
    },

    pieces(view, settings, key) {
      const route = view.routesByKey.get(key)
      const plans = route === undefined ? [] : planOf(mode, view, settings, route)
      return [
        ...mode.pieces(view, settings, key),
        ...plans.flatMap((plan) => listenerPieces(plan).map(({ piece }) => piece)),
      ]
    },
  }
}

const policy = { kind: 'localhost-node-ports' } as const

function mayListen({ fairlead }: { readonly fairlead: Pick<FairleadConfig, 'localhostNodePorts'> }): boolean {
  return fairlead.localhostNodePorts === true
}

function withListeners(traits: ModeTraits, config: Parameters<typeof mayListen>[0]): ModeTraits {
  return mayListen(config) ? { ...traits, localhostListeners: localhostTraits(traits.mode) } : traits
}

/** The mode leaves loopback to others. */
function isLeft(family: Family, traits: ModeTraits, { nodePortAddresses }: ModeSettings): boolean {
  if (traits.servesAt === 'loopback') return false
  return !isOpenForNodePorts(loopbackIps[family], { family, traits, traffic: { nodePortAddresses } })
}

function planOf(mode: Mode, { family, node }: NodeView, settings: RenderSettings, route: Route): readonly RoutePlan[] {
  const isTheirs = mayListen(settings.config) && isLeft(family, mode.traits(settings.config, settings.ebpf), settings)
  return isTheirs ? [planRoute(route, node, policy)] : []
}

function besideListeners(mode: ModeOnNode, context: ModeContext): ModeOnNode {
  if (!mayListen(context.config)) return mode
  const { borrowRelay, settingsOf, log } = context
  return {
    ...mode,
    get name() {
      return mode.name
    },
    get traits() {
      return withListeners(mode.traits, context.config)
    },

    async createBackend(family, signal) {
      const opened = await mode.createBackend(family, signal)
      try {
        // Nobody else pays for it.
        const { UserspaceBackend } = await import('../../backends/userspace/userspace-backend.ts')
        const relay = await borrowRelay({ mayBeTransparent: false })
        const listeners = endingWith(new UserspaceBackend({ relay, listen: policy, log }), relay)
        const isWanted = () => isLeft(family, mode.traits, settingsOf(family))
        return { ...opened, backend: besideBackend(opened.backend, listeners, isWanted) }
      } catch (error) {
        await opened.backend[Symbol.asyncDispose]()
        throw error
      }
    },
  }
}
