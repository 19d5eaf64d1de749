/** The userspace mode on a node: iptables redirects the addresses of Services to listeners of this process. */
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
import { portalTraits } from '../../backends/userspace/traits.ts'
import { parsePortRange as parseProxyPortRange } from '../../config/port-range.ts'
import type { StartConfig } from '../../config/live/how-fields-change.ts'
import { followOwnPods } from '../../core/node/own-pods.ts'
import type { FlowTargets } from '../../core/sync/stale-flows.ts'
import type { AfterSync } from '../../core/sync/sync-runner.ts'
import { noSpan, within } from '../../core/trace.ts'
import type { ConntrackReconciler } from '../../dataplane/conntrack/conntrack-reconciler.ts'
import { openChangeDetector } from '../../dataplane/iptables/change-detector.ts'
import { useOf } from '../../dataplane/relay/kept-relay.ts'
import { netlinkMarkedDelivery } from '../../dataplane/marked-delivery/netlink-marked-delivery.ts'
import type { Sysctl } from '../../dataplane/sysctl/sysctl.ts'
import { families } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { aborted } from '../../observe/http/http-server.ts'
import { PrometheusIptablesMetrics } from '../../observe/metrics/iptables-metrics.ts'
import { endingWith } from './ending-with.ts'
import { iptablesSupport } from './iptables-support.ts'
import type { ModeBackend, ModeContext, ModeOnNode } from './mode.ts'
import { openStaleConnections } from './stale-connections.ts'
import { trafficSettings } from './traffic-settings.ts'
import { linuxRules } from './workings.ts'

export function portalMode(context: ModeContext): ModeOnNode {
  const transparencies = new Map<Family, Transparency>()
  const shared: SharedByFamilies = {
    noteTransparency: (family, made) => void transparencies.set(family, made),
    relayEnds: [],
  }
  return {
    name: 'userspace',
    get traits() {
      const relaysAsClientIn = families.filter((family) => transparencies.get(family)?.isOn === true)
      const relaysAsNodeBecause: Partial<Record<Family, string>> = {}
      for (const [family, { whyNot }] of transparencies) if (whyNot !== undefined) relaysAsNodeBecause[family] = whyNot
      return { ...portalTraits, relaysAsClientIn, relaysAsNodeBecause }
    },
    ...linuxRules,
    ...iptablesSupport(context),
    prepare: () => Promise.resolve(),
    createBackend: (family, signal) => createBackend(family, context, shared, signal),
  }
}

interface SharedByFamilies {
  readonly noteTransparency: (family: Family, made: Transparency) => void
  /** Each family gives the relay back; it has no connection any more when all have. */
  readonly relayEnds: Promise<void>[]
}

async function createBackend(
  family: Family,
  context: ModeContext,
  { noteTransparency, relayEnds }: SharedByFamilies,
  signal: AbortSignal,
): Promise<ModeBackend> {
  const { config, host, iptablesOf, log, metrics, localIps, borrowRelay, sockets } = context
  const { openNetlink, openDatagrams, sysctl, clock } = host
  const iptables = await iptablesOf(family, signal)
  const freePorts = new FreePorts(proxyPorts(config) ?? (await portsToGuess(sysctl)))
  context.noteProxyPorts(family, freePorts)
  const staleConnections = await openStaleConnections(context)
  const podsOf = followOwnPods()
  const openDetector = (opening: AbortSignal) =>
    openChangeDetector({ iptables, tables: ['filter', 'nat', 'mangle'], openDatagrams, log }, opening)
  const delivery = netlinkMarkedDelivery({ open: openNetlink, numbers: answerDelivery })
  const keepsClients = context.clientAddress === 'auto'
  // Last of what can fail: nobody would give back a relay that has no backend yet, and it would keep the process alive.
  const relay = await borrowRelay({ mayBeTransparent: keepsClients })
  const transparency = new Transparency({ relay, iptables, delivery, keepsClients, log })
  noteTransparency(family, transparency)
  const findDrift = async (plan: PortalPlan, state: KernelState) =>
    (await findPortalDrift(plan, state)) ?? transparency.findDrift(state)
  const portals = new PortalBackend({
    relay,
    freePorts,
    iptables,
    settings: ({ node, routesByKey }, keys) => {
      const now = context.settingsOf(family)
      const settings = trafficSettings(family, now)
      const pods = podsOf(settings.localTraffic, now.podCIDRs)
      for (const key of keys) pods.note(routesByKey.get(key)?.endpoints ?? [])
      return portalSettings({ ...settings, localTraffic: pods.localTraffic }, node)
    },
    transparency,
    drift: new DriftWatch({ iptables, findDrift, openDetector, clock, log }),
    metrics: new PrometheusIptablesMetrics(metrics, family),
    portBefore: (id) => sockets.handed(useOf(id))?.port,
    leavesRules: () => sockets.areShared,
    log,
  })
  const relayEnd = new AbortController()
  relayEnds.push(aborted(relayEnd.signal))
  const ownRelay: AsyncDisposable = {
    [Symbol.asyncDispose]: async () => {
      try {
        await relay[Symbol.asyncDispose]()
      } finally {
        relayEnd.abort()
      }
    },
  }
  const ownRouting: AsyncDisposable = {
    // Connections of the process that has taken over need it too, if it has any of its own.
    [Symbol.asyncDispose]: async () => {
      if (sockets.areShared) {
        await Promise.all(relayEnds)
        if (['userspace', undefined].includes(await context.currentMode())) return
      }
      await transparency[Symbol.asyncDispose]()
    },
  }
  return {
    // In this order, so that no rule leads to a closed listener and open connections keep the routing they need.
    backend: endingWith(portals, ownRelay, ownRouting),
    afterSync: [staleFlows(portals.udp, localIps, staleConnections)],
  }
}

/** Those that the configuration names. The operator may keep them free from all other programs. */
function proxyPorts({ portRange }: StartConfig): FreePortsOptions | undefined {
  const parsed = parseProxyPortRange(portRange)
  return parsed.ok && parsed.range !== undefined ? { range: parsed.range, isRangeBinding: true } : undefined
}

/** Without a configured range: those that the kernel itself chooses from, if it tells. */
async function portsToGuess(sysctl: Sysctl): Promise<FreePortsOptions> {
  const read = async (name: string) => (await sysctl.read(`net/ipv4/${name}`)) ?? ''
  const range = parsePortRange(await read('ip_local_port_range'))
  const reserved = parsePortList(await read('ip_local_reserved_ports'))
  return { reserved, ...(range !== undefined && { range }) }
}

/** The kernel's flows lead to proxy ports here, so the reconciler compares them with portals instead of endpoints. */
function staleFlows(udp: UdpPortals, localIps: () => readonly string[], reconciler: ConntrackReconciler): AfterSync {
  return {
    name: reconciler.name,
    async run({ view }, signal, span = noSpan) {
      const targets = udp.take(localIps())
      if (targets === undefined) return
      await within(span, 'conntrack.ClearEntriesForIP', async (clearing) => {
        const deleted = await reconciler.reconcile(view.family, targets, signal)
        clearing.set({ ip: goneIps(targets), deleted })
      })
    },
  }
}

/** The first of those that lead nowhere any more. */
function goneIps(targets: readonly FlowTargets[]): readonly string[] {
  const gone = targets.filter(({ addresses }) => addresses.size === 0)
  const ips = gone.flatMap(({ entrances }) => entrances.flatMap((at) => (at.kind === 'node-port' ? [] : [at.ip])))
  return [...new Set(ips)].slice(0, 10)
}
