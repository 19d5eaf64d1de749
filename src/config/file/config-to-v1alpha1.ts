import { nsFromMs, renderGoDuration } from '../../net/go-duration.ts'
import { type LogStreams, programsNftables, type UncheckedConfig } from '../proxy-config.ts'
import { fairleadApiVersion, fairleadKind } from './fairlead-v1alpha1.ts'
import { apiVersion, kind } from './v1alpha1.ts'

/** The configuration as the fields of a v1alpha1 file, for `--write-config-to` and `/configz`. */
export function configToV1alpha1(config: UncheckedConfig): Readonly<Record<string, unknown>> {
  const { clientConnection, conntrack, detectLocal, ipvs, iptables, nftables, winkernel } = config
  return {
    kind,
    apiVersion,
    ...(Object.keys(config.featureGates).length > 0 && { featureGates: config.featureGates }),
    clientConnection: { ...clientConnection },
    logging: loggingFields(config),
    hostnameOverride: config.hostnameOverride,
    bindAddress: config.bindAddress,
    healthzBindAddress: config.healthzBindAddress,
    metricsBindAddress: config.metricsBindAddress,
    bindAddressHardFail: config.bindAddressHardFail,
    enableProfiling: config.enableProfiling,
    showHiddenMetricsForVersion: config.showHiddenMetricsForVersion,
    mode: config.mode,
    iptables: {
      masqueradeBit: iptables.masqueradeBit,
      masqueradeAll: !programsNftables(config.mode) && config.masqueradeAll,
      localhostNodePorts: iptables.localhostNodePorts,
      ...periodsOf(config, 'iptables'),
    },
    ipvs: {
      ...periodsOf(config, 'ipvs'),
      scheduler: ipvs.scheduler,
      excludeCIDRs: orNull(ipvs.excludeCidrs),
      strictARP: ipvs.strictArp,
      tcpTimeout: renderGoDuration(ipvs.tcpTimeoutMs),
      tcpFinTimeout: renderGoDuration(ipvs.tcpFinTimeoutMs),
      udpTimeout: renderGoDuration(ipvs.udpTimeoutMs),
    },
    nftables: {
      masqueradeBit: nftables.masqueradeBit,
      masqueradeAll: programsNftables(config.mode) && config.masqueradeAll,
      ...periodsOf(config, 'nftables'),
    },
    winkernel: {
      networkName: winkernel.networkName,
      sourceVip: winkernel.sourceVip,
      enableDSR: winkernel.enableDsr,
      rootHnsEndpointName: winkernel.rootHnsEndpointName,
      forwardHealthCheckVip: winkernel.forwardHealthCheckVip,
    },
    detectLocalMode: config.detectLocalMode,
    detectLocal: {
      bridgeInterface: detectLocal.bridgeInterface,
      interfaceNamePrefix: detectLocal.interfaceNamePrefix,
    },
    clusterCIDR: detectLocal.clusterCidrs.join(','),
    nodePortAddresses: orNull(config.nodePortAddresses),
    oomScoreAdj: config.oomScoreAdj,
    conntrack: {
      maxPerCore: conntrack.maxPerCore,
      min: conntrack.min,
      tcpEstablishedTimeout: renderGoDuration(conntrack.tcpEstablishedTimeoutMs),
      tcpCloseWaitTimeout: renderGoDuration(conntrack.tcpCloseWaitTimeoutMs),
      tcpBeLiberal: conntrack.tcpBeLiberal,
      udpTimeout: renderGoDuration(conntrack.udpTimeoutMs),
      udpStreamTimeout: renderGoDuration(conntrack.udpStreamTimeoutMs),
    },
    configSyncPeriod: renderGoDuration(config.configSyncPeriodMs),
    portRange: config.portRange,
    ...(config.windowsRunAsService && { windowsRunAsService: true }),
  }
}

/** The second document, for the same places. */
export function fairleadToV1alpha1({ fairlead }: UncheckedConfig): Readonly<Record<string, unknown>> {
  return { kind: fairleadKind, apiVersion: fairleadApiVersion, ...fairlead }
}

type Section = 'iptables' | 'ipvs' | 'nftables'

/** Inside there is one pair of periods. It belongs to the section that the mode reads; the others show zero. */
function periodsOf(config: UncheckedConfig, section: Section) {
  const others = config.mode === 'ipvs' ? 'ipvs' : 'iptables'
  const owner: Section = programsNftables(config.mode) ? 'nftables' : others
  return {
    syncPeriod: renderGoDuration(section === owner ? config.syncPeriodMs : 0),
    minSyncPeriod: renderGoDuration(section === owner ? config.minSyncPeriodMs : 0),
  }
}

function loggingFields({ logging }: UncheckedConfig) {
  const streams = ({ splitStream, infoBufferSize }: LogStreams) => ({
    ...(splitStream && { splitStream }),
    infoBufferSize: infoBufferSize.text,
  })
  return {
    format: logging.format,
    flushFrequency: logging.isFlushFrequencyNumeric
      ? Number(nsFromMs(logging.flushFrequencyMs))
      : renderGoDuration(logging.flushFrequencyMs),
    verbosity: logging.verbosity,
    ...(logging.vmodule.length > 0 && { vmodule: logging.vmodule }),
    options: { text: streams(logging.text), json: streams(logging.json) },
  }
}

/** Kubernetes writes an empty list as null. */
function orNull(list: readonly string[]): readonly string[] | null {
  return list.length === 0 ? null : list
}
