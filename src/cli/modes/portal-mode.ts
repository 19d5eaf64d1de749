/** The userspace mode on a node: iptables leads the addresses of Services to listeners of this process. */
import { DriftWatch } from '../../dataplane/iptables/language/drift-watch.ts'
import type { KernelState } from '../../dataplane/iptables/language/kernel-state.ts'
import { FreePorts, parsePortList, parsePortRange } from '../../backends/userspace/free-ports.ts'
import type { FreePortsOptions } from '../../backends/userspace/free-ports.ts'
import { answerDelivery } from '../../backends/userspace/portals/answer-rules.ts'
import { findPortalDrift } from '../../backends/userspace/portals/find-drift.ts'
import { PortalBackend } from '../../backends/userspace/portals/portal-backend.ts'
import type { PortalPlan } from '../../backends/userspace/portals/plan.ts'
import { portalSettings } from '../../backends/userspace/portals/settings.ts'
import { Transparency } from '../../backends/userspace/portals/transparency.ts'
import type { UdpPortals } from '../../backends/userspace/portals/udp-portals.ts'
import { parsePortRange as parseProxyPortRange } from '../../config/port-range.ts'
import type { ProxyConfig } from '../../config/proxy-config.ts'
import type { Backend } from '../../core/backend.ts'
import type { RouteKey } from '../../core/route.ts'
import type { AfterSync } from '../../core/sync/sync-runner.ts'
import { conntrackReconciler } from '../../dataplane/conntrack/conntrack-reconciler.ts'
import { openConntrack } from '../../dataplane/conntrack/open-conntrack.ts'
import { processExec as exec } from '../../dataplane/exec/exec.ts'
import { openChangeDetector } from '../../dataplane/iptables/change-detector.ts'
import { netlinkMarkedDelivery } from '../../dataplane/marked-delivery/netlink-marked-delivery.ts'
import { openDatagrams, openNetlink } from '../../dataplane/netlink/open-netlink.ts'
import type { Relay } from '../../dataplane/relay/relay.ts'
import { PrometheusConntrackMetrics } from '../../observe/metrics/conntrack-metrics.ts'
import { PrometheusIptablesMetrics } from '../../observe/metrics/iptables-metrics.ts'
import { fileSysctl } from '../../dataplane/sysctl/file-sysctl.ts'
import { missingIptables } from './iptables-support.ts'
import type { RunnableMode } from './mode.ts'
import { trafficSettings } from './traffic-settings.ts'

const sysctl = fileSysctl({ root: '/proc/sys' })

export const portalMode: RunnableMode = {
  name: 'userspace',
  usesKernel: true,

  async supports(family, { iptablesOf }, signal) {
    const iptables = await iptablesOf(family, signal)
    return iptables.isSupported(signal)
  },

  whatIsMissing: missingIptables,

  prepare: () => Promise.resolve(),

  async createBackend(family, context, signal) {
    const { config, iptablesOf, clock, log, metrics, localIps, borrowRelay } = context
    const iptables = await iptablesOf(family, signal)
    const fixed = trafficSettings(family, context)
    const openDetector = (opening: AbortSignal) =>
      openChangeDetector({ iptables, tables: ['filter', 'nat'], openDatagrams, log }, opening)
    const relay = await borrowRelay({ mayBeTransparent: true })
    const delivery = netlinkMarkedDelivery({ open: openNetlink, numbers: answerDelivery })
    const transparency = new Transparency({ relay, iptables, delivery, sysctl, log })
    const findDrift = async (plan: PortalPlan, state: KernelState) =>
      (await findPortalDrift(plan, state)) ?? transparency.findDrift(state)
    const portals = new PortalBackend({
      relay,
      freePorts: new FreePorts(proxyPorts(config) ?? (await portsToGuess())),
      iptables,
      settings: (node) => portalSettings(fixed, node),
      transparency,
      drift: new DriftWatch({ iptables, findDrift, openDetector, clock, log }),
      metrics: new PrometheusIptablesMetrics(metrics, family),
      log,
    })
    const conntrack = await openConntrack({ openNetlink, exec, log })
    const reconciler = conntrackReconciler({
      conntrack,
      clock,
      log,
      metrics: new PrometheusConntrackMetrics(metrics),
    })
    return {
      backend: endingWith(portals, relay, transparency),
      afterSync: [staleFlows(portals.udp, localIps, reconciler)],
    }
  },
}

/** Those that the configuration names: whoever does that may well keep them free from all others, and from the kernel. */
function proxyPorts({ portRange }: ProxyConfig): FreePortsOptions | undefined {
  const parsed = parseProxyPortRange(portRange)
  return parsed.ok && parsed.range !== undefined ? { range: parsed.range, isRangeBinding: true } : undefined
}

/** Those that the kernel would choose from, as far as it says which they are. */
async function portsToGuess(): Promise<FreePortsOptions> {
  const read = async (name: string) => (await sysctl.read(`net/ipv4/${name}`)) ?? ''
  const range = parsePortRange(await read('ip_local_port_range'))
  const reserved = parsePortList(await read('ip_local_reserved_ports'))
  return { reserved, ...(range !== undefined && { range }) }
}

/** Flows lead to proxy ports here, not to endpoints. */
function staleFlows(udp: UdpPortals, localIps: () => readonly string[], reconciler: AfterSync): AfterSync {
  return {
    name: reconciler.name,
    async run(synced, signal) {
      const routes = udp.take(localIps())
      if (routes === undefined) return
      const routesByKey = new Map(routes.map((route, index) => [`${index} ${route.key}` as RouteKey, route]))
      await reconciler.run({ ...synced, view: { ...synced.view, routesByKey }, needsConntrackCleanup: true }, signal)
    },
  }
}

/** Portals go first, then listeners, then the connections of clients, and last what those needed. */
function endingWith(portals: PortalBackend, relay: Relay, transparency: Transparency): Backend {
  return {
    name: portals.name,
    sync: (view, change, signal) => portals.sync(view, change, signal),
    watch: (onDrift, signal) => portals.watch(onDrift, signal),
    traffic: () => portals.traffic(),
    async [Symbol.asyncDispose]() {
      await portals[Symbol.asyncDispose]()
      await relay[Symbol.asyncDispose]()
      await transparency[Symbol.asyncDispose]()
    },
  }
}
