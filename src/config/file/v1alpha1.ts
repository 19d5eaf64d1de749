import {
  bool,
  boolByName,
  duration,
  float,
  int32,
  listOf,
  numberOr,
  object,
  quantity,
  scalar,
  text,
  uint32,
} from './schema.ts'

export const apiVersion = 'kubeproxy.config.k8s.io/v1alpha1'
export const kind = 'KubeProxyConfiguration'

/** Nanoseconds as a number: an old form that only `logging.flushFrequency` accepts. */
export interface Nanoseconds {
  readonly nanoseconds: number
}

const nanoseconds = scalar<Nanoseconds>('a whole number of nanoseconds', (value) =>
  Number.isSafeInteger(value) ? { nanoseconds: Number(value) } : undefined,
)

const outputRouting = object({ splitStream: bool, infoBufferSize: quantity })

/** Every field of the configuration file. An absent field decodes to undefined, or to an empty list or map. */
export const kubeProxyConfiguration = object({
  apiVersion: text,
  kind: text,
  featureGates: boolByName,
  clientConnection: object({ kubeconfig: text, acceptContentTypes: text, contentType: text, qps: float, burst: int32 }),
  logging: object({
    format: text,
    flushFrequency: numberOr(nanoseconds, duration),
    verbosity: uint32,
    vmodule: listOf(object({ filePattern: text, verbosity: uint32 })),
    options: object({ text: outputRouting, json: outputRouting }),
  }),
  hostnameOverride: text,
  bindAddress: text,
  healthzBindAddress: text,
  metricsBindAddress: text,
  bindAddressHardFail: bool,
  enableProfiling: bool,
  showHiddenMetricsForVersion: text,
  mode: text,
  iptables: object({
    masqueradeBit: int32,
    masqueradeAll: bool,
    localhostNodePorts: bool,
    syncPeriod: duration,
    minSyncPeriod: duration,
  }),
  ipvs: object({
    syncPeriod: duration,
    minSyncPeriod: duration,
    scheduler: text,
    excludeCIDRs: listOf(text),
    strictARP: bool,
    tcpTimeout: duration,
    tcpFinTimeout: duration,
    udpTimeout: duration,
  }),
  nftables: object({ masqueradeBit: int32, masqueradeAll: bool, syncPeriod: duration, minSyncPeriod: duration }),
  winkernel: object({
    networkName: text,
    sourceVip: text,
    enableDSR: bool,
    rootHnsEndpointName: text,
    forwardHealthCheckVip: bool,
  }),
  detectLocalMode: text,
  detectLocal: object({ bridgeInterface: text, interfaceNamePrefix: text }),
  clusterCIDR: text,
  nodePortAddresses: listOf(text),
  oomScoreAdj: int32,
  conntrack: object({
    maxPerCore: int32,
    min: int32,
    tcpEstablishedTimeout: duration,
    tcpCloseWaitTimeout: duration,
    tcpBeLiberal: bool,
    udpTimeout: duration,
    udpStreamTimeout: duration,
  }),
  configSyncPeriod: duration,
  portRange: text,
  windowsRunAsService: bool,
})

export type KubeProxyConfiguration = typeof kubeProxyConfiguration.absent
