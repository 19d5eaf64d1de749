import { ChainWatch } from '../../backends/iptables/chain-watch.ts'
import { IptablesBackend } from '../../backends/iptables/iptables-backend.ts'
import { planIptables } from '../../backends/iptables/plan.ts'
import { renderPlan } from '../../backends/iptables/render.ts'
import type { FixedSettings } from '../../backends/iptables/settings-source.ts'
import { counterNames } from '../../dataplane/iptables/language/counters.ts'
import { assumedSettings, SettingsSource } from '../../backends/iptables/settings-source.ts'
import { nodePortAddresses } from '../../core/node/node-port-addresses.ts'
import { conntrackReconciler } from '../../dataplane/conntrack/conntrack-reconciler.ts'
import { openConntrack } from '../../dataplane/conntrack/open-conntrack.ts'
import { processExec as exec } from '../../dataplane/exec/exec.ts'
import { openTableNews } from '../../dataplane/iptables/table-news.ts'
import { openDatagrams, openNetlink } from '../../dataplane/netlink/open-netlink.ts'
import type { Nfacct } from '../../dataplane/nfacct/nfacct.ts'
import { netlinkNfacct } from '../../dataplane/nfacct/netlink-nfacct.ts'
import { isNfacctUsable } from '../../dataplane/nfacct/probe-nfacct.ts'
import { fileSysctl } from '../../dataplane/sysctl/file-sysctl.ts'
import { routeLocalnet } from '../../dataplane/sysctl/localhost-node-ports.ts'
import type { Family } from '../../net/ip.ts'
import { PrometheusConntrackMetrics } from '../../observe/metrics/conntrack-metrics.ts'
import { PrometheusIptablesMetrics } from '../../observe/metrics/iptables-metrics.ts'
import { missingIptables } from './iptables-support.ts'
import type { Mode, ModeContext, ModeSettings } from './mode.ts'
import { trafficSettings } from './traffic-settings.ts'

const sysctl = fileSysctl({ root: '/proc/sys' })

export const iptablesMode: Mode = {
  name: 'iptables',
  usesKernel: true,

  async supports(family, { iptablesOf }, signal) {
    const iptables = await iptablesOf(family, signal)
    return iptables.isSupported(signal)
  },

  whatIsMissing: missingIptables,

  async prepare({ config, nodePortAddresses: addresses }) {
    const isOpenOnLoopback = nodePortAddresses(addresses, 'ipv4').containsLoopback
    if (config.iptables.localhostNodePorts && isOpenOnLoopback) await routeLocalnet(sysctl)
  },

  async createBackend(family, context, signal) {
    const { iptablesOf, clock, log, metrics } = context
    const iptables = await iptablesOf(family, signal)
    const nfacct = netlinkNfacct({ open: openNetlink })
    const hasCounters = await isNfacctUsable(nfacct, log, signal)
    // Both families share the kernel's counters, so one of them reports.
    if (hasCounters && family === 'ipv4') addCounterMetrics(metrics, nfacct)
    // With liberal tracking, packets that only look out of place are let through; dropping them would undo that.
    const dropsInvalid = ((await sysctl.read('net/netfilter/nf_conntrack_tcp_be_liberal')) ?? '0') === '0'
    const settings = new SettingsSource({
      fixed: fixedSettings(family, context, dropsInvalid),
      iptables,
      log,
      ensureCounter: async (name, ensuring) => {
        if (hasCounters) await nfacct.ensure(name, ensuring)
        return hasCounters
      },
    })
    const openNews = (opening: AbortSignal) =>
      openTableNews({ iptables, tables: ['filter', 'nat'], openDatagrams, clock, log }, opening)
    const drift = new ChainWatch({ iptables, openNews, clock, log })
    const conntrack = await openConntrack({ openNetlink, exec, log })
    return {
      backend: new IptablesBackend({
        iptables,
        settings,
        drift,
        metrics: new PrometheusIptablesMetrics(metrics, family),
      }),
      afterSync: [conntrackReconciler({ conntrack, clock, log, metrics: new PrometheusConntrackMetrics(metrics) })],
    }
  },

  render(view, settings) {
    const plan = planIptables(view, assumedSettings(fixedSettings(view.family, settings, true)))
    const text = renderPlan(plan)
    // The kernel refuses a rule that names a counter which is not there.
    const counters = Object.values(counterNames).filter((name) => text.includes(name))
    return [{ part: 'iptables', text, needs: counters.map((name) => `nfacct add ${name}`) }]
  },
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
  const { localhostNodePorts } = settings.config.iptables
  return { ...trafficSettings(family, settings), localhostNodePorts, dropsInvalid }
}
