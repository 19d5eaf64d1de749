import { familyOf, parseIp } from '../../net/ip.ts'
import { msFromNs } from '../../net/go-duration.ts'
import { withPort } from '../host-port.ts'
import { type LoggingConfig, programsNftables, type UncheckedConfig } from '../proxy-config.ts'
import { zeroQuantity } from '../quantity.ts'
import { type FairleadConfiguration, fairleadConfiguration } from './fairlead-v1alpha1.ts'
import { type KubeProxyConfiguration, kubeProxyConfiguration } from './v1alpha1.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

const healthzPort = 10256
const metricsPort = 10249

/** What an empty file means. */
export function defaultConfig(): UncheckedConfig {
  return configFromV1alpha1(kubeProxyConfiguration.absent, fairleadConfiguration.absent)
}

/**
 * Fills in the defaults, then combines what the file has once per mode into one setting. `||` marks a field whose zero
 * means absent, as in Kubernetes; `??` marks one whose explicit zero counts.
 */
export function configFromV1alpha1(file: KubeProxyConfiguration, fairlead: FairleadConfiguration): UncheckedConfig {
  const { clientConnection, conntrack, detectLocal, ipvs, iptables, nftables, winkernel } = file
  const bindAddress = file.bindAddress || '0.0.0.0'
  const mode = file.mode ?? ''
  return {
    featureGates: file.featureGates,
    clientConnection: {
      kubeconfig: clientConnection.kubeconfig ?? '',
      acceptContentTypes: clientConnection.acceptContentTypes ?? '',
      contentType: clientConnection.contentType || 'application/vnd.kubernetes.protobuf',
      qps: clientConnection.qps || 5,
      burst: clientConnection.burst || 10,
    },
    logging: loggingFrom(file.logging),
    hostnameOverride: file.hostnameOverride ?? '',
    bindAddress,
    ...serverAddresses(bindAddress, file),
    bindAddressHardFail: file.bindAddressHardFail ?? false,
    enableProfiling: file.enableProfiling ?? false,
    showHiddenMetricsForVersion: file.showHiddenMetricsForVersion ?? '',
    mode,
    ...settingsOfMode(mode, file),
    iptables: {
      masqueradeBit: iptables.masqueradeBit ?? 14,
      localhostNodePorts: iptables.localhostNodePorts ?? true,
    },
    ipvs: {
      scheduler: ipvs.scheduler ?? '',
      excludeCidrs: ipvs.excludeCIDRs,
      strictArp: ipvs.strictARP ?? false,
      tcpTimeoutMs: ipvs.tcpTimeout ?? 0,
      tcpFinTimeoutMs: ipvs.tcpFinTimeout ?? 0,
      udpTimeoutMs: ipvs.udpTimeout ?? 0,
    },
    nftables: { masqueradeBit: nftables.masqueradeBit ?? 14 },
    winkernel: {
      networkName: winkernel.networkName ?? '',
      sourceVip: winkernel.sourceVip ?? '',
      enableDsr: winkernel.enableDSR ?? false,
      rootHnsEndpointName: winkernel.rootHnsEndpointName ?? '',
      forwardHealthCheckVip: winkernel.forwardHealthCheckVip ?? false,
    },
    detectLocalMode: file.detectLocalMode ?? '',
    detectLocal: {
      bridgeInterface: detectLocal.bridgeInterface ?? '',
      interfaceNamePrefix: detectLocal.interfaceNamePrefix ?? '',
      clusterCidrs: file.clusterCIDR ? file.clusterCIDR.split(',') : [],
    },
    nodePortAddresses: file.nodePortAddresses,
    oomScoreAdj: file.oomScoreAdj ?? -999,
    conntrack: {
      maxPerCore: conntrack.maxPerCore ?? 32 * 1024,
      min: conntrack.min ?? 128 * 1024,
      tcpEstablishedTimeoutMs: conntrack.tcpEstablishedTimeout ?? 24 * hour,
      tcpCloseWaitTimeoutMs: conntrack.tcpCloseWaitTimeout ?? hour,
      tcpBeLiberal: conntrack.tcpBeLiberal ?? false,
      udpTimeoutMs: conntrack.udpTimeout ?? 0,
      udpStreamTimeoutMs: conntrack.udpStreamTimeout ?? 0,
    },
    configSyncPeriodMs: file.configSyncPeriod || 15 * minute,
    portRange: mode === 'userspace' ? (file.portRange ?? '') : '',
    windowsRunAsService: file.windowsRunAsService ?? false,
    fairlead: {
      serviceSeriesLimit: fairlead.serviceSeriesLimit ?? 2000,
      strictSourceRanges: fairlead.strictSourceRanges ?? false,
      externalIPGuard: fairlead.externalIPGuard ?? 'warn',
      externalIPCIDRs: fairlead.externalIPCIDRs,
      externalIPGuardNamespaces: fairlead.externalIPGuardNamespaces ?? false,
      localhostNodePorts: fairlead.localhostNodePorts,
      destroyOldConnections: fairlead.destroyOldConnections ?? false,
    },
  }
}

type ModeSettings = Pick<UncheckedConfig, 'syncPeriodMs' | 'minSyncPeriodMs' | 'masqueradeAll'>

function settingsOfMode(mode: string, { iptables, ipvs, nftables }: KubeProxyConfiguration): ModeSettings {
  const section = programsNftables(mode) ? nftables : iptables
  const masqueradeAll = section.masqueradeAll ?? false
  if (mode === 'ipvs')
    return { syncPeriodMs: ipvs.syncPeriod || 30 * second, minSyncPeriodMs: ipvs.minSyncPeriod ?? 0, masqueradeAll }
  return {
    syncPeriodMs: section.syncPeriod || 30 * second,
    minSyncPeriodMs: section.minSyncPeriod || second,
    masqueradeAll,
  }
}

type ServerAddresses = Pick<UncheckedConfig, 'healthzBindAddress' | 'metricsBindAddress'>

function serverAddresses(bindAddress: string, file: KubeProxyConfiguration): ServerAddresses {
  const ip = parseIp(bindAddress)
  const isIpv4 = ip !== undefined && familyOf(ip) === 'ipv4'
  return {
    healthzBindAddress: withPort(file.healthzBindAddress || (isIpv4 ? '0.0.0.0' : '::'), healthzPort),
    metricsBindAddress: withPort(file.metricsBindAddress || (isIpv4 ? '127.0.0.1' : '::1'), metricsPort),
  }
}

function loggingFrom({
  format,
  flushFrequency,
  verbosity,
  vmodule,
  options,
}: KubeProxyConfiguration['logging']): LoggingConfig {
  const isNumeric = typeof flushFrequency === 'object'
  const flushFrequencyMs = isNumeric ? msFromNs(BigInt(flushFrequency.nanoseconds)) : flushFrequency
  const streams = (section: typeof options.text) => ({
    splitStream: section.splitStream ?? false,
    infoBufferSize: section.infoBufferSize ?? zeroQuantity,
  })
  return {
    format: format || 'text',
    flushFrequencyMs: flushFrequencyMs || 5 * second,
    isFlushFrequencyNumeric: isNumeric && flushFrequencyMs !== 0,
    verbosity: verbosity ?? 0,
    vmodule: vmodule.map((item) => ({ filePattern: item.filePattern ?? '', verbosity: item.verbosity ?? 0 })),
    text: streams(options.text),
    json: streams(options.json),
  }
}
