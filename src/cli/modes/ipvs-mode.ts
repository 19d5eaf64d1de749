import { ipvsAbilities } from '../../backends/ipvs/abilities.ts'
import { DriftWatch } from '../../backends/ipvs/drift-watch.ts'
import { findObstacle } from '../../backends/ipvs/find-obstacle.ts'
import { IpvsBackend } from '../../backends/ipvs/ipvs-backend.ts'
import { applyKernelSettings } from '../../backends/ipvs/kernel-settings.ts'
import { nodeAddresses } from '../../backends/ipvs/node-addresses.ts'
import { allPieces, routePieces } from '../../backends/ipvs/pieces.ts'
import { planIpvs } from '../../backends/ipvs/plan.ts'
import type { IpvsPlan } from '../../backends/ipvs/plan.ts'
import { renderPlan } from '../../backends/ipvs/render.ts'
import type { FixedSettings } from '../../backends/ipvs/settings.ts'
import { ipvsTraits } from '../../backends/ipvs/traits.ts'
import type { StartConfig } from '../../config/live/how-fields-change.ts'
import type { NodeView } from '../../core/backend.ts'
import { silentLogger } from '../../core/logger.ts'
import { netlinkAddresses } from '../../dataplane/addresses/netlink-addresses.ts'
import { commandIpset } from '../../dataplane/ipset/command-ipset.ts'
import { openChangeDetector } from '../../dataplane/iptables/change-detector.ts'
import { openIpvs } from '../../dataplane/ipvs/open-ipvs.ts'
import type { Family } from '../../net/ip.ts'
import { PrometheusIptablesMetrics } from '../../observe/metrics/iptables-metrics.ts'
import type { Host } from '../host/host.ts'
import { CommandError } from '../program.ts'
import { iptablesSupport } from './iptables-support.ts'
import type { Mode, ModeBackend, ModeContext, ModeSettings } from './mode.ts'
import { openStaleConnections } from './stale-connections.ts'
import { trafficSettings } from './traffic-settings.ts'
import { linuxRules } from './workings.ts'

const defaultScheduler = 'rr'
/** The kernel answers in milliseconds, and loading a module takes a second at most. */
const prepareTimeoutMs = 30_000

export const ipvsMode: Mode = {
  name: 'ipvs',
  carriesTraffic: false,
  endpointRules: 'usual',
  abilities: ipvsAbilities,
  traits: (config) => ipvsTraits({ scheduler: schedulerOf(config) }),

  onNode(context) {
    const { supports, whatIsMissing } = iptablesSupport(context)
    return {
      name: 'ipvs',
      traits: ipvsTraits({ scheduler: schedulerOf(context.config) }),
      ...linuxRules,

      async supports(family, signal) {
        // One kernel serves both families, so it is asked once.
        if (family === 'ipv4') await mustBeUsable(context, signal)
        return supports(family, signal)
      },

      whatIsMissing,

      async prepare({ config }) {
        const { host, log } = context
        const signal = AbortSignal.timeout(prepareTimeoutMs)
        const { sysctl } = host
        await applyKernelSettings(config.ipvs, { sysctl, ipvs: await openIpvsAgain(host, signal), log }, signal)
      },

      createBackend: (family, signal) => createBackend(family, context, signal),
    }
  },

  render: (view, settings) => renderPlan(planOf(view, settings)),

  pieces(view, settings, key) {
    const pieces = routePieces(planOf(view, settings), key)
    return pieces === undefined ? [] : allPieces(pieces)
  },
}

function planOf(view: NodeView, settings: ModeSettings): IpvsPlan {
  const { family } = view
  const fixed = fixedSettings(family, settings)
  const addresses = nodeAddresses(settings.localIps(), family, settings.nodePortAddresses)
  return planIpvs(view, { ...fixed, ...addresses, hasRandomFully: true })
}

/** Falling back to another mode would treat the same traffic differently, and nobody asked for that. */
async function mustBeUsable({ config, host, log }: ModeContext, signal: AbortSignal): Promise<void> {
  const { exec, openNetlink } = host
  const ipvs = await openIpvs({ openNetlink, exec, log, signal })
  const obstacle = await findObstacle({ ipvs, ipset: commandIpset(exec), scheduler: schedulerOf(config) }, signal)
  if (obstacle !== undefined) throw new CommandError(`can't use the IPVS proxier: ${obstacle}`)
}

/** Without a log: `supports` has logged everything already. */
function openIpvsAgain({ exec, openNetlink }: Host, signal: AbortSignal): ReturnType<typeof openIpvs> {
  return openIpvs({ openNetlink, exec, log: silentLogger, signal })
}

async function createBackend(family: Family, context: ModeContext, signal: AbortSignal): Promise<ModeBackend> {
  const { host, iptablesOf, log, metrics } = context
  const { exec, openNetlink, openDatagrams, clock } = host
  const iptables = await iptablesOf(family, signal)
  const kernel = {
    ipvs: await openIpvsAgain(host, signal),
    ipset: commandIpset(exec),
    addresses: netlinkAddresses({ open: openNetlink }),
    iptables,
  }
  const openDetector = (opening: AbortSignal) =>
    openChangeDetector({ iptables, tables: ['filter', 'nat'], openDatagrams, log }, opening)
  const staleConnections = await openStaleConnections(context)
  const iptablesMetrics = new PrometheusIptablesMetrics(metrics, family)
  return {
    backend: new IpvsBackend({
      kernel,
      settings: () => fixedSettings(family, context.settingsOf(family)),
      drift: new DriftWatch({ kernel, family, openDetector, clock, log }),
      metrics: { restoreFailed: () => iptablesMetrics.restoreFailed({ isFull: true }) },
      clock,
      log,
    }),
    afterSync: [staleConnections],
  }
}

function fixedSettings(family: Family, settings: ModeSettings): FixedSettings {
  const { config } = settings
  return {
    ...trafficSettings(family, settings),
    scheduler: schedulerOf(config),
    excludeCidrs: config.ipvs.excludeCidrs,
  }
}

function schedulerOf({ ipvs }: StartConfig): string {
  return ipvs.scheduler === '' ? defaultScheduler : ipvs.scheduler
}
