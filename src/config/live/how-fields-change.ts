/**
 * What becomes of each field when the file changes while Fairlead runs. A field of the configuration without an entry does
 * not compile; docs/configuration.md shows the same, and a test compares the two.
 */
import type { FeatureGates, UsedGate } from '../feature-gates.ts'
import type { ProxyConfig } from '../proxy-config.ts'
import type { Quantity } from '../quantity.ts'

/** What a live field changes, so that only that is done again. */
export type Effect =
  /** Every family programs its rules anew: only those that differ are written. */
  | 'rules'
  /** When syncs run. The loops read it whenever they wait. */
  | 'sync loop'
  | 'log'
  /** Settings of the kernel or of the process, written once more. */
  | 'machine'
  /** Read at the moment of use: pages, series. */
  | 'when used'
  /** Nothing reads it. */
  | 'none'

interface Live {
  readonly kind: 'live'
  readonly effect: Effect
  /** A field of the top level that needs a restart. While a change of it waits, this one waits too: it serves the other value. */
  readonly together?: keyof ProxyConfig
}

/** The running value stays until the process is started again. */
interface NeedsRestart {
  readonly kind: 'restart'
  /** For people. */
  readonly because: string
}

export type HowItChanges = Live | NeedsRestart

export interface FieldEntry<How = HowItChanges> {
  /** What the files call it; one that every mode has in a section of its own has several names. */
  readonly names: readonly string[]
  readonly how: How
}

/** Each gate is a field of its own. */
export interface GatesEntry {
  readonly gates: Readonly<Record<UsedGate, HowItChanges>>
}

type Leaf = undefined | string | number | boolean | readonly unknown[] | Quantity

type EntriesOf<Section> = {
  readonly [Name in keyof Section]: Section[Name] extends Leaf
    ? FieldEntry
    : FeatureGates extends Section[Name]
      ? GatesEntry
      : EntriesOf<Section[Name]>
}

const live = (effect: Effect): Live => ({ kind: 'live', effect })
const liveTogether = (together: keyof ProxyConfig, effect: Effect): Live => ({ kind: 'live', effect, together })
const restart = (because: string): NeedsRestart => ({ kind: 'restart', because })
const field = <How>(name: string, how: How): FieldEntry<How> => ({ names: [name], how })
const inSections = <How>(name: string, sections: readonly string[], how: How): FieldEntry<How> => ({
  names: sections.map((section) => `${section}.${name}`),
  how,
})

const connection = restart('the connection to the API server is made at the start')
const identity = restart('it says which node this is')
const server = restart('its port is opened at the start, and probes and scrapes have to follow')
const network = restart('the network of the node is looked at at the start')

export const howFieldsChange = {
  featureGates: {
    gates: {
      AllowServiceExternalIPs: live('rules'),
      ComponentFlagz: live('when used'),
      ComponentStatusz: live('when used'),
      LoggingAlphaOptions: live('log'),
      LoggingBetaOptions: live('log'),
      NativeHistograms: live('none'),
      WatchListClient: connection,
    },
  },
  clientConnection: {
    kubeconfig: field('clientConnection.kubeconfig', connection),
    acceptContentTypes: field('clientConnection.acceptContentTypes', live('none')),
    contentType: field('clientConnection.contentType', live('none')),
    qps: field('clientConnection.qps', connection),
    burst: field('clientConnection.burst', connection),
  },
  logging: {
    format: field('logging.format', live('log')),
    flushFrequencyMs: field('logging.flushFrequency', live('log')),
    isFlushFrequencyNumeric: { names: [], how: live('none') },
    verbosity: field('logging.verbosity', live('log')),
    vmodule: field('logging.vmodule', live('log')),
    text: {
      splitStream: field('logging.options.text.splitStream', live('log')),
      infoBufferSize: field('logging.options.text.infoBufferSize', live('log')),
    },
    json: {
      splitStream: field('logging.options.json.splitStream', live('log')),
      infoBufferSize: field('logging.options.json.infoBufferSize', live('log')),
    },
  },
  hostnameOverride: field('hostnameOverride', identity),
  bindAddress: field('bindAddress', identity),
  healthzBindAddress: field('healthzBindAddress', server),
  metricsBindAddress: field('metricsBindAddress', server),
  bindAddressHardFail: field('bindAddressHardFail', server),
  enableProfiling: field('enableProfiling', live('when used')),
  showHiddenMetricsForVersion: field('showHiddenMetricsForVersion', live('none')),
  mode: field('mode', restart('another mode is another data plane')),
  syncPeriodMs: inSections('syncPeriod', ['iptables', 'ipvs', 'nftables'], live('sync loop')),
  minSyncPeriodMs: inSections('minSyncPeriod', ['iptables', 'ipvs', 'nftables'], live('sync loop')),
  masqueradeAll: inSections('masqueradeAll', ['iptables', 'nftables'], live('rules')),
  iptables: {
    masqueradeBit: field('iptables.masqueradeBit', live('rules')),
    localhostNodePorts: field('iptables.localhostNodePorts', live('rules')),
  },
  ipvs: {
    scheduler: field('ipvs.scheduler', restart('whether the kernel has it is checked at the start')),
    excludeCidrs: field('ipvs.excludeCIDRs', restart('what belongs to others is found out at the start')),
    strictArp: field('ipvs.strictARP', live('machine')),
    tcpTimeoutMs: field('ipvs.tcpTimeout', live('machine')),
    tcpFinTimeoutMs: field('ipvs.tcpFinTimeout', live('machine')),
    udpTimeoutMs: field('ipvs.udpTimeout', live('machine')),
  },
  nftables: { masqueradeBit: field('nftables.masqueradeBit', live('rules')) },
  winkernel: {
    networkName: field('winkernel.networkName', network),
    sourceVip: field('winkernel.sourceVip', network),
    enableDsr: field('winkernel.enableDSR', network),
    rootHnsEndpointName: field('winkernel.rootHnsEndpointName', network),
    forwardHealthCheckVip: field('winkernel.forwardHealthCheckVip', network),
  },
  detectLocalMode: field('detectLocalMode', restart('some modes wait at the start for what the Node says')),
  detectLocal: {
    bridgeInterface: field('detectLocal.bridgeInterface', liveTogether('detectLocalMode', 'rules')),
    interfaceNamePrefix: field('detectLocal.interfaceNamePrefix', liveTogether('detectLocalMode', 'rules')),
    clusterCidrs: field('clusterCIDR', liveTogether('detectLocalMode', 'rules')),
  },
  nodePortAddresses: field('nodePortAddresses', live('rules')),
  oomScoreAdj: field('oomScoreAdj', live('machine')),
  conntrack: {
    maxPerCore: field('conntrack.maxPerCore', live('machine')),
    min: field('conntrack.min', live('machine')),
    tcpEstablishedTimeoutMs: field('conntrack.tcpEstablishedTimeout', live('machine')),
    tcpCloseWaitTimeoutMs: field('conntrack.tcpCloseWaitTimeout', live('machine')),
    tcpBeLiberal: field('conntrack.tcpBeLiberal', restart('rules of the iptables mode depend on it')),
    udpTimeoutMs: field('conntrack.udpTimeout', live('machine')),
    udpStreamTimeoutMs: field('conntrack.udpStreamTimeout', live('machine')),
  },
  configSyncPeriodMs: field('configSyncPeriod', live('none')),
  portRange: field('portRange', restart('ports that are in use cannot move')),
  windowsRunAsService: field('windowsRunAsService', live('none')),
  fairlead: {
    serviceSeriesLimit: field('serviceSeriesLimit', live('when used')),
    strictSourceRanges: field('strictSourceRanges', live('rules')),
    externalIPGuard: field('externalIPGuard', live('rules')),
    externalIPCIDRs: field('externalIPCIDRs', live('rules')),
    externalIPGuardNamespaces: field('externalIPGuardNamespaces', restart('what is watched is decided at the start')),
    destroyOldConnections: field('destroyOldConnections', live('rules')),
    localhostNodePorts: field('localhostNodePorts', restart('what listens on loopback is opened at the start')),
  },
} satisfies EntriesOf<ProxyConfig>

/**
 * The part that stays as it was at the start. A part of the program that keeps a configuration keeps this one: what can
 * change is not in it, and has to be read where it is used.
 */
export type StartConfig = Kept<ProxyConfig, typeof howFieldsChange>

type Kept<Section, Entries> = {
  readonly [Name in keyof Section & keyof Entries as KeptName<Name, Entries[Name]>]: Entries[Name] extends FieldEntry
    ? Section[Name]
    : Kept<Section[Name], Entries[Name]>
}

type KeptName<Name, Entry> = Entry extends FieldEntry<Live> | GatesEntry ? never : Name
