import { DriftWatch } from '../../backends/ipvs/drift-watch.ts'
import { findObstacle } from '../../backends/ipvs/find-obstacle.ts'
import { IpvsBackend } from '../../backends/ipvs/ipvs-backend.ts'
import { applyKernelSettings } from '../../backends/ipvs/kernel-settings.ts'
import { nodeAddresses } from '../../backends/ipvs/node-addresses.ts'
import { planIpvs } from '../../backends/ipvs/plan.ts'
import { renderPlan } from '../../backends/ipvs/render.ts'
import type { FixedSettings } from '../../backends/ipvs/settings.ts'
import type { ProxyConfig } from '../../config/proxy-config.ts'
import type { Logger } from '../../core/logger.ts'
import { silentLogger } from '../../core/logger.ts'
import { netlinkAddresses } from '../../dataplane/addresses/netlink-addresses.ts'
import { conntrackReconciler } from '../../dataplane/conntrack/conntrack-reconciler.ts'
import { openConntrack } from '../../dataplane/conntrack/open-conntrack.ts'
import { processExec as exec } from '../../dataplane/exec/exec.ts'
import { commandIpset } from '../../dataplane/ipset/command-ipset.ts'
import { openChangeDetector } from '../../dataplane/iptables/change-detector.ts'
import { openIpvs } from '../../dataplane/ipvs/open-ipvs.ts'
import { openDatagrams, openNetlink } from '../../dataplane/netlink/open-netlink.ts'
import { fileSysctl } from '../../dataplane/sysctl/file-sysctl.ts'
import type { Family } from '../../net/ip.ts'
import { PrometheusConntrackMetrics } from '../../observe/metrics/conntrack-metrics.ts'
import { PrometheusIptablesMetrics } from '../../observe/metrics/iptables-metrics.ts'
import { CommandError } from '../program.ts'
import { missingIptables } from './iptables-support.ts'
import type { Mode, ModeSettings } from './mode.ts'
import { trafficSettings } from './traffic-settings.ts'

const defaultScheduler = 'rr'
/** The kernel answers in milliseconds, and loading a module takes a second at most. */
const prepareTimeoutMs = 30_000

export const ipvsMode: Mode = {
  name: 'ipvs',
  usesKernel: true,

  async supports(family, { config, iptablesOf, log }, signal) {
    // One kernel serves both families, so it is asked once.
    if (family === 'ipv4') await mustBeUsable(config, log, signal)
    const iptables = await iptablesOf(family, signal)
    return iptables.isSupported(signal)
  },

  whatIsMissing: missingIptables,

  async prepare({ config, log }) {
    const signal = AbortSignal.timeout(prepareTimeoutMs)
    const sysctl = fileSysctl({ root: '/proc/sys' })
    await applyKernelSettings(config.ipvs, { sysctl, ipvs: await ipvsAgain(signal), log }, signal)
  },

  async createBackend(family, context, signal) {
    const { iptablesOf, clock, log, metrics } = context
    const iptables = await iptablesOf(family, signal)
    const kernel = {
      ipvs: await ipvsAgain(signal),
      ipset: commandIpset(exec),
      addresses: netlinkAddresses({ open: openNetlink }),
      iptables,
    }
    const openDetector = (opening: AbortSignal) =>
      openChangeDetector({ iptables, tables: ['filter', 'nat'], openDatagrams, log }, opening)
    const conntrack = await openConntrack({ openNetlink, exec, log })
    const iptablesMetrics = new PrometheusIptablesMetrics(metrics, family)
    return {
      backend: new IpvsBackend({
        kernel,
        settings: fixedSettings(family, context),
        drift: new DriftWatch({ kernel, family, openDetector, clock, log }),
        metrics: { restoreFailed: () => iptablesMetrics.restoreFailed({ isFull: true }) },
        clock,
        log,
      }),
      afterSync: [conntrackReconciler({ conntrack, clock, log, metrics: new PrometheusConntrackMetrics(metrics) })],
    }
  },

  render(view, settings) {
    const { family } = view
    const fixed = fixedSettings(family, settings)
    const addresses = nodeAddresses(settings.localIps(), family, settings.nodePortAddresses)
    return renderPlan(planIpvs(view, { ...fixed, ...addresses, hasRandomFully: true }))
  },
}

/** There is no way round: another mode would treat the same traffic differently, and nobody asked for it. */
async function mustBeUsable(config: ProxyConfig, log: Logger, signal: AbortSignal): Promise<void> {
  const ipvs = await openIpvs({ openNetlink, exec, log, signal })
  const obstacle = await findObstacle({ ipvs, ipset: commandIpset(exec), scheduler: schedulerOf(config) }, signal)
  if (obstacle !== undefined) throw new CommandError(`can't use the IPVS proxier: ${obstacle}`)
}

/** The first time told what there is to tell. */
function ipvsAgain(signal: AbortSignal): ReturnType<typeof openIpvs> {
  return openIpvs({ openNetlink, exec, log: silentLogger, signal })
}

function fixedSettings(family: Family, settings: ModeSettings): FixedSettings {
  const { config } = settings
  return {
    ...trafficSettings(family, settings),
    scheduler: schedulerOf(config),
    excludeCidrs: config.ipvs.excludeCidrs,
  }
}

function schedulerOf({ ipvs }: ProxyConfig): string {
  return ipvs.scheduler === '' ? defaultScheduler : ipvs.scheduler
}
