import { parseIp } from '../../net/ip.ts'
import { joinProblems } from '../join-problems.ts'
import { renderGoDuration } from '../../net/go-duration.ts'
import { splitHostPort } from '../host-port.ts'
import { kubernetesVersion } from '../kubernetes-version.ts'
import { nearestName } from '../../net/nearest-name.ts'
import { modesOn } from '../platform.ts'
import { parsePortRange } from '../port-range.ts'
import {
  type ConntrackConfig,
  type IpvsConfig,
  programsNftables,
  type ProxyConfig,
  type UncheckedConfig,
} from '../proxy-config.ts'
import { cidrListProblems, detectLocalProblems, nodePortAddressProblems } from './address-rules.ts'
import { invalid } from './field-problem.ts'
import { loggingProblems } from './validate-logging.ts'

export type Validation =
  | { readonly ok: true; readonly config: ProxyConfig }
  | {
      readonly ok: false
      readonly message: string
      readonly problems: readonly string[]
      /** Those of them that kube-proxy does not have. */
      readonly oursAlone: readonly string[]
    }

const root = 'KubeProxyConfiguration'
const hour = 3_600_000

/** Checks a complete configuration. Paths, form and order of the problems are those of kube-proxy. */
export function validateConfig(config: UncheckedConfig, platform: NodeJS.Platform): Validation {
  // Logging is set up first, so its problems are reported first, and alone.
  const logging = loggingProblems(config.logging, config.featureGates)
  if (logging.length > 0)
    return { ok: false, message: `initialize logging: ${joinProblems(logging)}`, problems: logging, oursAlone: [] }
  const problems = configProblems(config, platform)
  if (problems.length > 0) {
    const message = `failed validate: ${joinProblems(problems)}`
    return { ok: false, message, problems, oursAlone: longPeriodProblems(config) }
  }
  return { ok: true, config: config as ProxyConfig }
}

function configProblems(config: UncheckedConfig, platform: NodeJS.Platform): string[] {
  return [
    ...masqueradeBitProblems(`${root}.KubeProxyIPTablesConfiguration.MasqueradeBit`, config.iptables.masqueradeBit),
    ...(config.mode === 'ipvs' ? ipvsProblems(config.ipvs) : []),
    ...(programsNftables(config.mode)
      ? masqueradeBitProblems(`${root}.KubeProxyNFTablesConfiguration.MasqueradeBit`, config.nftables.masqueradeBit)
      : []),
    ...linuxProblems(config),
    ...modeProblems(config.mode, platform),
    ...portRangeProblems(config),
    ...atLeastZero(`${root}.ClientConnection.Burst`, config.clientConnection.burst),
    ...periodProblems(config),
    ...serverProblems(config),
    ...nodePortAddressProblems(`${root}.NodePortAddresses`, config.nodePortAddresses),
    ...hiddenMetricsProblems(config.showHiddenMetricsForVersion),
    ...detectLocalProblems(root, config),
  ]
}

function masqueradeBitProblems(path: string, bit: number): string[] {
  return bit < 0 || bit > 31 ? [invalid(path, bit, 'must be within the range [0, 31]')] : []
}

function ipvsProblems(ipvs: IpvsConfig): string[] {
  const path = `${root}.KubeProxyIPVSConfiguration`
  return [
    ...durationAtLeastZero(`${path}.TCPTimeout`, ipvs.tcpTimeoutMs),
    ...durationAtLeastZero(`${path}.TCPFinTimeout`, ipvs.tcpFinTimeoutMs),
    ...durationAtLeastZero(`${path}.UDPTimeout`, ipvs.udpTimeoutMs),
    ...cidrListProblems(`${path}.ExcludeCidrs`, ipvs.excludeCidrs),
  ]
}

function linuxProblems({ conntrack, oomScoreAdj }: UncheckedConfig): string[] {
  const path = `${root}.KubeProxyLinuxConfiguration`
  return [
    ...conntrackProblems(`${path}.KubeProxyConntrackConfiguration`, conntrack),
    ...(oomScoreAdj < -1000 || oomScoreAdj > 1000
      ? [invalid(`${path}.OOMScoreAdj`, oomScoreAdj, 'must be within the range [-1000, 1000]')]
      : []),
  ]
}

function conntrackProblems(path: string, conntrack: ConntrackConfig): string[] {
  return [
    ...atLeastZero(`${path}.MaxPerCore`, conntrack.maxPerCore),
    ...atLeastZero(`${path}.Min`, conntrack.min),
    ...durationAtLeastZero(`${path}.TCPEstablishedTimeout`, conntrack.tcpEstablishedTimeoutMs),
    ...durationAtLeastZero(`${path}.TCPCloseWaitTimeout`, conntrack.tcpCloseWaitTimeoutMs),
    ...durationAtLeastZero(`${path}.UDPTimeout`, conntrack.udpTimeoutMs),
    ...durationAtLeastZero(`${path}.UDPStreamTimeout`, conntrack.udpStreamTimeoutMs),
  ]
}

function modeProblems(mode: string, platform: NodeJS.Platform): string[] {
  const modes: readonly string[] = modesOn(platform)
  if (modes.includes(mode)) return []
  const nearest = nearestName(mode, modes)
  const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`
  const reason = `must be ${modes.join(', ')} or blank (blank means ${modes[0]}) on ${platform}${hint}`
  return [invalid(`${root}.Mode.ProxyMode`, mode, reason)]
}

/** In other modes it has no meaning, and kube-proxy no longer checks it. */
function portRangeProblems({ mode, portRange }: UncheckedConfig): string[] {
  if (mode !== 'userspace') return []
  const parsed = parsePortRange(portRange)
  return parsed.ok ? [] : [invalid(`${root}.PortRange`, portRange, parsed.problem)]
}

function periodProblems({ configSyncPeriodMs, syncPeriodMs, minSyncPeriodMs }: UncheckedConfig): string[] {
  return [
    ...durationAboveZero(`${root}.ConfigSyncPeriod`, configSyncPeriodMs),
    ...durationAboveZero(`${root}.SyncPeriod`, syncPeriodMs),
    ...durationAtLeastZero(`${root}.MinSyncPeriod`, minSyncPeriodMs),
    ...(minSyncPeriodMs > syncPeriodMs
      ? [
          invalidDuration(
            `${root}.SyncPeriod`,
            minSyncPeriodMs,
            `must be greater than or equal to ${root}.MinSyncPeriod`,
          ),
        ]
      : []),
    ...longPeriodProblems({ minSyncPeriodMs }),
  ]
}

/** kube-proxy accepts this and then crashes in iptables and nftables mode, whose full sync is due every hour. */
function longPeriodProblems({ minSyncPeriodMs }: Pick<UncheckedConfig, 'minSyncPeriodMs'>): string[] {
  return minSyncPeriodMs > hour
    ? [invalidDuration(`${root}.MinSyncPeriod`, minSyncPeriodMs, 'must be less than or equal to 1h0m0s')]
    : []
}

function serverProblems({ bindAddress, healthzBindAddress, metricsBindAddress }: UncheckedConfig): string[] {
  return [
    ...(parseIp(bindAddress) === undefined
      ? [invalid(`${root}.BindAddress`, bindAddress, 'not a valid textual representation of an IP address')]
      : []),
    ...(healthzBindAddress === '' ? [] : hostPortProblems(`${root}.HealthzBindAddress`, healthzBindAddress)),
    ...hostPortProblems(`${root}.MetricsBindAddress`, metricsBindAddress),
  ]
}

function hostPortProblems(path: string, address: string): string[] {
  const parts = splitHostPort(address)
  if (parts === undefined) return [invalid(path, address, 'must be IP:port')]
  const isPort = /^\+?\d+$/.test(parts.port) && Number(parts.port) >= 1 && Number(parts.port) <= 65535
  return [
    ...(parseIp(parts.host) === undefined ? [invalid(path, parts.host, 'must be a valid IP')] : []),
    ...(isPort ? [] : [invalid(path, parts.port, 'must be a valid port')]),
  ]
}

function hiddenMetricsProblems(version: string): string[] {
  const previous = `${kubernetesVersion.major}.${kubernetesVersion.minor - 1}`
  if (version === '' || version === previous) return []
  const reason = `must be empty or ${previous}: only the previous minor version has metrics to show`
  return [invalid(`${root}.ShowHiddenMetricsForVersion`, version, reason)]
}

function atLeastZero(path: string, value: number): string[] {
  return value < 0 ? [invalid(path, value, 'must be greater than or equal to 0')] : []
}

function durationAtLeastZero(path: string, ms: number): string[] {
  return ms < 0 ? [invalidDuration(path, ms, 'must be greater than or equal to 0')] : []
}

function durationAboveZero(path: string, ms: number): string[] {
  return ms <= 0 ? [invalidDuration(path, ms, 'must be greater than 0')] : []
}

function invalidDuration(path: string, ms: number, reason: string): string {
  return invalid(path, renderGoDuration(ms), reason)
}
