import { abilitiesHere, iptablesAbilities } from '../../backends/iptables/abilities.ts'
import { ChainWatch } from '../../backends/iptables/chain-watch.ts'
import { IptablesBackend } from '../../backends/iptables/iptables-backend.ts'
import { routePieces } from '../../backends/iptables/pieces.ts'
import { planIptables } from '../../backends/iptables/plan.ts'
import type { IptablesPlan } from '../../backends/iptables/plan.ts'
import { renderPlan } from '../../backends/iptables/render.ts'
import type { FixedSettings } from '../../backends/iptables/settings-source.ts'
import { routesLocalhost } from '../../config/proxy-config.ts'
import type { NodeView } from '../../core/backend.ts'
import { silentLogger } from '../../core/logger.ts'
import { allRulePieces } from '../../dataplane/iptables/language/rule-pieces.ts'
import { counterNames } from '../../dataplane/iptables/language/counters.ts'
import { assumedSettings, SettingsSource } from '../../backends/iptables/settings-source.ts'
import { iptablesTraits } from '../../backends/iptables/traits.ts'
import { nodePortAddresses } from '../../core/node/node-port-addresses.ts'
import { findIptables } from '../../dataplane/iptables/find-iptables.ts'
import type { Iptables } from '../../dataplane/iptables/iptables.ts'
import { openChainChanges } from '../../dataplane/iptables/chain-changes.ts'
import type { Nfacct } from '../../dataplane/nfacct/nfacct.ts'
import { netlinkNfacct } from '../../dataplane/nfacct/netlink-nfacct.ts'
import { isNfacctUsable } from '../../dataplane/nfacct/probe-nfacct.ts'
import { routeLocalnet } from '../../dataplane/sysctl/localhost-node-ports.ts'
import type { Family } from '../../net/ip.ts'
import { PrometheusIptablesMetrics } from '../../observe/metrics/iptables-metrics.ts'
import { iptablesSupport } from './iptables-support.ts'
import type { Mode, ModeBackend, ModeContext, ModeSettings } from './mode.ts'
import { openConnections } from './stale-connections.ts'
import { trafficSettings } from './traffic-settings.ts'
import { linuxRules } from './workings.ts'

export const iptablesMode: Mode = {
  name: 'iptables',
  carriesTraffic: false,
  endpointRules: 'usual',
  abilities: iptablesAbilities,
  abilitiesAt: async ({ exec, clock }, family, signal) =>
    abilitiesHere(await findIptables({ exec, clock, log: silentLogger, family, signal }), signal),
  traits: (config) => iptablesTraits({ localhostNodePorts: routesLocalhost(config) }),

  onNode: (context) => ({
    name: 'iptables',
    get traits() {
      return iptablesTraits({ localhostNodePorts: routesLocalhost(context.settings().config) })
    },
    ...linuxRules,
    ...iptablesSupport(context),

    async prepare({ config, nodePortAddresses: texts }) {
      const isOpenOnLoopback = nodePortAddresses(texts, 'ipv4').containsLoopback
      if (routesLocalhost(config) && isOpenOnLoopback) await routeLocalnet(context.host.sysctl)
    },

    createBackend: (family, signal) => createBackend(family, context, signal),
  }),

  render(view, settings) {
    const text = renderPlan(planOf(view, settings))
    // The kernel refuses a rule that names a counter which is not there.
    const counters = Object.values(counterNames).filter((name) => text.includes(name))
    return [{ part: 'iptables', text, needs: counters.map((name) => `nfacct add ${name}`) }]
  },

  pieces(view, settings, key) {
    const pieces = routePieces(planOf(view, settings), key)
    return pieces === undefined ? [] : allRulePieces(pieces)
  },
}

function planOf(view: NodeView, settings: ModeSettings): IptablesPlan {
  return planIptables(view, assumedSettings(fixedSettings(view.family, settings, true)))
}

async function createBackend(family: Family, context: ModeContext, signal: AbortSignal): Promise<ModeBackend> {
  const { host, iptablesOf, log, metrics } = context
  const { openDatagrams, clock } = host
  const iptables = await iptablesOf(family, signal)
  const source = await openSettings(family, context, iptables, signal)
  const openChanges = (opening: AbortSignal) =>
    openChainChanges({ iptables, tables: ['filter', 'nat'], openDatagrams, clock, log }, opening)
  const drift = new ChainWatch({ iptables, openChanges, clock, log })
  const { staleConnections, openConnections: open } = await openConnections(context)
  return {
    backend: new IptablesBackend({
      iptables,
      settings: source,
      drift,
      metrics: new PrometheusIptablesMetrics(metrics, family),
      countsConnections: (routes) => routes <= context.settings().config.fairlead.serviceSeriesLimit,
      log,
    }),
    afterSync: [staleConnections],
    openConnections: open,
    abilities: await abilitiesHere(iptables, signal),
  }
}

async function openSettings(
  family: Family,
  context: ModeContext,
  iptables: Iptables,
  signal: AbortSignal,
): Promise<SettingsSource> {
  const { host, log, metrics } = context
  const nfacct = netlinkNfacct({ open: host.openNetlink })
  const hasCounters = await isNfacctUsable(nfacct, log, signal)
  // Both families share the kernel's counters, so one of them reports.
  if (hasCounters && family === 'ipv4') addCounterMetrics(metrics, nfacct)
  // With liberal tracking, packets that only look out of place are let through; dropping them would undo that.
  const dropsInvalid = ((await host.sysctl.read('net/netfilter/nf_conntrack_tcp_be_liberal')) ?? '0') === '0'
  return new SettingsSource({
    fixed: () => fixedSettings(family, context.settingsOf(family), dropsInvalid),
    iptables,
    log,
    ensureCounter: async (name, ensuring) => {
      if (hasCounters) await nfacct.ensure(name, ensuring)
      return hasCounters
    },
  })
}

function addCounterMetrics(metrics: ModeContext['metrics'], nfacct: Nfacct): void {
  const packetsOf = (name: string) => async () => (await nfacct.read(name, AbortSignal.timeout(5_000)))?.packets
  const { invalidDropped, localhostAccepted } = counterNames
  metrics.addKernelCounter('kubeproxy_iptables_ct_state_invalid_dropped_packets_total', packetsOf(invalidDropped))
  metrics.addKernelCounter(
    'kubeproxy_iptables_localhost_nodeports_accepted_packets_total',
    packetsOf(localhostAccepted),
  )
}

function fixedSettings(family: Family, settings: ModeSettings, dropsInvalid: boolean): FixedSettings {
  return { ...trafficSettings(family, settings), localhostNodePorts: routesLocalhost(settings.config), dropsInvalid }
}
