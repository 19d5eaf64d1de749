import { defaultConfig } from '../file/config-from-v1alpha1.ts'
import { withPort } from '../host-port.ts'
import type { FairleadConfig, LoggingConfig, UncheckedConfig } from '../proxy-config.ts'
import type { DaemonFlagName, DaemonFlagValues } from './daemon-flags.ts'

type Given = ReadonlySet<DaemonFlagName>

export function configFromFlags(flags: DaemonFlagValues, given: Given): UncheckedConfig {
  // Starts from a complete default, so unlike in a file, `--bind-address=::` does not move the other addresses to IPv6.
  const start = defaultConfig()
  return {
    ...start,
    featureGates: flags['feature-gates'],
    clientConnection: {
      ...start.clientConnection,
      kubeconfig: flags.kubeconfig,
      contentType: flags['kube-api-content-type'],
      qps: flags['kube-api-qps'],
      burst: flags['kube-api-burst'],
    },
    logging: withLoggingFlags(start.logging, flags, given),
    bindAddress: flags['bind-address'],
    ...serverAddresses(flags),
    bindAddressHardFail: flags['bind-address-hard-fail'],
    enableProfiling: flags.profiling,
    showHiddenMetricsForVersion: flags['show-hidden-metrics-for-version'],
    mode: flags['proxy-mode'],
    ...syncPeriods(flags),
    masqueradeAll: flags['masquerade-all'],
    iptables: {
      masqueradeBit: flags['iptables-masquerade-bit'],
      localhostNodePorts: flags['iptables-localhost-nodeports'],
    },
    ipvs: {
      scheduler: flags['ipvs-scheduler'],
      excludeCidrs: flags['ipvs-exclude-cidrs'],
      strictArp: flags['ipvs-strict-arp'],
      tcpTimeoutMs: flags['ipvs-tcp-timeout'],
      tcpFinTimeoutMs: flags['ipvs-tcpfin-timeout'],
      udpTimeoutMs: flags['ipvs-udp-timeout'],
    },
    winkernel: {
      networkName: flags['network-name'],
      sourceVip: flags['source-vip'],
      enableDsr: flags['enable-dsr'],
      // The default `cbr0` is one of the platform defaults: on Linux the field stays empty.
      rootHnsEndpointName: given.has('root-hnsendpoint-name') ? flags['root-hnsendpoint-name'] : '',
      forwardHealthCheckVip: flags['forward-healthcheck-vip'],
    },
    detectLocalMode: flags['detect-local-mode'],
    detectLocal: {
      bridgeInterface: flags['pod-bridge-interface'],
      interfaceNamePrefix: flags['pod-interface-name-prefix'],
      clusterCidrs: given.has('cluster-cidr') ? flags['cluster-cidr'].split(',') : [],
    },
    nodePortAddresses: flags['nodeport-addresses'],
    oomScoreAdj: flags['oom-score-adj'],
    conntrack: {
      maxPerCore: flags['conntrack-max-per-core'],
      min: flags['conntrack-min'],
      tcpEstablishedTimeoutMs: flags['conntrack-tcp-timeout-established'],
      tcpCloseWaitTimeoutMs: flags['conntrack-tcp-timeout-close-wait'],
      tcpBeLiberal: flags['conntrack-tcp-be-liberal'],
      udpTimeoutMs: flags['conntrack-udp-timeout'],
      udpStreamTimeoutMs: flags['conntrack-udp-timeout-stream'],
    },
    configSyncPeriodMs: flags['config-sync-period'],
    portRange: flags['proxy-port-range'],
    windowsRunAsService: flags['windows-service'],
    fairlead: withFairleadFlags(start.fairlead, flags, given),
  }
}

/**
 * Logging flags on the command line win over the file, so that `--config … -v=5` works. The vmodule lists are joined.
 */
export function withLoggingFlags(logging: LoggingConfig, flags: DaemonFlagValues, given: Given): LoggingConfig {
  const pick = <Value>(name: DaemonFlagName, flag: Value, current: Value) => (given.has(name) ? flag : current)
  const streams = (format: 'text' | 'json') => ({
    splitStream: pick(`log-${format}-split-stream`, flags[`log-${format}-split-stream`], logging[format].splitStream),
    infoBufferSize: pick(
      `log-${format}-info-buffer-size`,
      flags[`log-${format}-info-buffer-size`],
      logging[format].infoBufferSize,
    ),
  })
  return {
    format: pick('logging-format', flags['logging-format'], logging.format),
    flushFrequencyMs: pick('log-flush-frequency', flags['log-flush-frequency'], logging.flushFrequencyMs),
    isFlushFrequencyNumeric: logging.isFlushFrequencyNumeric,
    verbosity: pick('v', flags.v, logging.verbosity),
    vmodule: [...flags.vmodule, ...logging.vmodule],
    text: streams('text'),
    json: streams('json'),
  }
}

/** Flags of Fairlead win over its part of the file. */
export function withFairleadFlags(fairlead: FairleadConfig, flags: DaemonFlagValues, given: Given): FairleadConfig {
  const pick = <Name extends DaemonFlagName>(name: Name, current: DaemonFlagValues[Name]) =>
    given.has(name) ? flags[name] : current
  return {
    serviceSeriesLimit: pick('service-series-limit', fairlead.serviceSeriesLimit),
    strictSourceRanges: pick('strict-source-ranges', fairlead.strictSourceRanges),
    externalIPGuard: pick('external-ip-guard', fairlead.externalIPGuard),
    externalIPCIDRs: pick('external-ip-cidrs', fairlead.externalIPCIDRs),
    externalIPGuardNamespaces: pick('external-ip-guard-namespaces', fairlead.externalIPGuardNamespaces),
    localhostNodePorts: given.has('localhost-nodeports')
      ? wishes[flags['localhost-nodeports']]
      : fairlead.localhostNodePorts,
    destroyOldConnections: pick('destroy-old-connections', fairlead.destroyOldConnections),
  }
}

const wishes = { auto: undefined, true: true, false: false } as const

/** The iptables flags apply to every mode but ipvs. */
function syncPeriods(flags: DaemonFlagValues): Pick<UncheckedConfig, 'syncPeriodMs' | 'minSyncPeriodMs'> {
  const family = flags['proxy-mode'] === 'ipvs' ? 'ipvs' : 'iptables'
  return { syncPeriodMs: flags[`${family}-sync-period`], minSyncPeriodMs: flags[`${family}-min-sync-period`] }
}

/** The deprecated port flags complete an address that has no port, or turn its server off with 0. */
function serverAddresses(flags: DaemonFlagValues): Pick<UncheckedConfig, 'healthzBindAddress' | 'metricsBindAddress'> {
  const healthzBindAddress = flags['healthz-bind-address']
  const metricsBindAddress = flags['metrics-bind-address']
  // For --write-config-to kube-proxy does not complete it, so that what was given is written.
  if (flags['write-config-to'] !== '') return { healthzBindAddress, metricsBindAddress }
  const complete = (address: string, port: number) => (port === 0 ? '' : withPort(address, port))
  return {
    healthzBindAddress: complete(healthzBindAddress, flags['healthz-port']),
    metricsBindAddress: complete(metricsBindAddress, flags['metrics-port']),
  }
}
