import { expect, test } from 'vitest'
import { masqueradeBit } from '../proxy-config.ts'
import { config, verdict } from '../testing/command-line.ts'
import { validateConfig } from './validate-config.ts'

const root = 'KubeProxyConfiguration'
const conntrack = `${root}.KubeProxyLinuxConfiguration.KubeProxyConntrackConfiguration`
const detectLocal = `${root}.DetectLocalConfiguration`
const notNegative = 'must be greater than or equal to 0'
const notAPair =
  'must be either a single CIDR or a dual-stack pair of CIDRs (e.g. [10.100.0.0/16, fde4:8dba:82e1::/48])'
const notACidr = 'must be a valid CIDR block (e.g. 10.100.0.0/16 or fde4:8dba:82e1::/48)'

/** A file and its problems, in order; without any, the file is valid. */
const examples: readonly (readonly [file: string, ...problems: string[]])[] = [
  [
    'iptables: {masqueradeBit: -10}',
    `${root}.KubeProxyIPTablesConfiguration.MasqueradeBit: Invalid value: -10: must be within the range [0, 31]`,
  ],
  [
    'iptables: {masqueradeBit: 32}',
    `${root}.KubeProxyIPTablesConfiguration.MasqueradeBit: Invalid value: 32: must be within the range [0, 31]`,
  ],
  [
    'mode: nftables\niptables: {masqueradeBit: 99}',
    `${root}.KubeProxyIPTablesConfiguration.MasqueradeBit: Invalid value: 99: must be within the range [0, 31]`,
  ],
  [
    'mode: nftables\nnftables: {masqueradeBit: 99}',
    `${root}.KubeProxyNFTablesConfiguration.MasqueradeBit: Invalid value: 99: must be within the range [0, 31]`,
  ],
  ['mode: iptables\nnftables: {masqueradeBit: 99}'],
  [
    'conntrack: {maxPerCore: -1, min: -1, tcpEstablishedTimeout: -1s, tcpCloseWaitTimeout: -1s, udpTimeout: -1s, udpStreamTimeout: -1s}',
    `${conntrack}.MaxPerCore: Invalid value: -1: ${notNegative}`,
    `${conntrack}.Min: Invalid value: -1: ${notNegative}`,
    `${conntrack}.TCPEstablishedTimeout: Invalid value: "-1s": ${notNegative}`,
    `${conntrack}.TCPCloseWaitTimeout: Invalid value: "-1s": ${notNegative}`,
    `${conntrack}.UDPTimeout: Invalid value: "-1s": ${notNegative}`,
    `${conntrack}.UDPStreamTimeout: Invalid value: "-1s": ${notNegative}`,
  ],
  [
    'conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s, udpTimeout: 0s, udpStreamTimeout: 0s}',
  ],
  [
    'oomScoreAdj: 1001',
    `${root}.KubeProxyLinuxConfiguration.OOMScoreAdj: Invalid value: 1001: must be within the range [-1000, 1000]`,
  ],
  [
    'oomScoreAdj: -1001',
    `${root}.KubeProxyLinuxConfiguration.OOMScoreAdj: Invalid value: -1001: must be within the range [-1000, 1000]`,
  ],
  ['configSyncPeriod: -1s', `${root}.ConfigSyncPeriod: Invalid value: "-1s": must be greater than 0`],
  [
    'iptables: {syncPeriod: 1s, minSyncPeriod: 2s}',
    `${root}.SyncPeriod: Invalid value: "2s": must be greater than or equal to ${root}.MinSyncPeriod`,
  ],
  [
    'iptables: {syncPeriod: -1s}',
    `${root}.SyncPeriod: Invalid value: "-1s": must be greater than 0`,
    `${root}.SyncPeriod: Invalid value: "1s": must be greater than or equal to ${root}.MinSyncPeriod`,
  ],
  ['iptables: {syncPeriod: 1s, minSyncPeriod: -2s}', `${root}.MinSyncPeriod: Invalid value: "-2s": ${notNegative}`],
  [
    'iptables: {syncPeriod: 3h, minSyncPeriod: 2h}',
    `${root}.MinSyncPeriod: Invalid value: "2h0m0s": must be less than or equal to 1h0m0s`,
  ],
  ['iptables: {syncPeriod: 3h, minSyncPeriod: 1h}'],
  [
    'bindAddress: 10.10.12.11:2000',
    `${root}.BindAddress: Invalid value: "10.10.12.11:2000": not a valid textual representation of an IP address`,
  ],
  [
    'bindAddress: "[::]"',
    `${root}.BindAddress: Invalid value: "[::]": not a valid textual representation of an IP address`,
  ],
  ['bindAddress: 010.001.0.1'],
  ['healthzBindAddress: localhost:80', `${root}.HealthzBindAddress: Invalid value: "localhost": must be a valid IP`],
  ['healthzBindAddress: localhost', `${root}.HealthzBindAddress: Invalid value: "localhost": must be IP:port`],
  ['healthzBindAddress: "[fd00:1::5]"', `${root}.HealthzBindAddress: Invalid value: "[fd00:1::5]": must be IP:port`],
  ['healthzBindAddress: 1.2.3.4:foo', `${root}.HealthzBindAddress: Invalid value: "foo": must be a valid port`],
  ['metricsBindAddress: 1.2.3.4:0', `${root}.MetricsBindAddress: Invalid value: "0": must be a valid port`],
  ['metricsBindAddress: 1.2.3.4:65536', `${root}.MetricsBindAddress: Invalid value: "65536": must be a valid port`],
  [
    'metricsBindAddress: 123.456.789.10:80',
    `${root}.MetricsBindAddress: Invalid value: "123.456.789.10": must be a valid IP`,
  ],
  [
    'metricsBindAddress: host:foo',
    `${root}.MetricsBindAddress: Invalid value: "host": must be a valid IP`,
    `${root}.MetricsBindAddress: Invalid value: "foo": must be a valid port`,
  ],
  ['metricsBindAddress: "[::1]:80"'],
  [
    'mode: kernelspace',
    `${root}.Mode.ProxyMode: Invalid value: "kernelspace": must be iptables, ipvs, nftables, ebpf, userspace or blank (blank means iptables) on linux`,
  ],
  ['mode: userspace'],
  ['mode: userspace\nportRange: 40000-40999'],
  ['mode: userspace\nportRange: 9-7', `${root}.PortRange: Invalid value: "9-7": must not end before it begins`],
  ['portRange: 9-7'], // kube-proxy accepts anything, and so do the modes without proxy ports
  ['mode: ""'],
  [
    'detectLocalMode: Guess',
    `${root}.DetectLocalMode: Unsupported value: "Guess": supported values: "ClusterCIDR", "NodeCIDR", "BridgeInterface", "InterfaceNamePrefix", ""`,
  ],
  ['detectLocalMode: BridgeInterface', `${detectLocal}.InterfaceName: Invalid value: "": must not be empty`],
  ['detectLocalMode: InterfaceNamePrefix', `${detectLocal}.InterfacePrefix: Invalid value: "": must not be empty`],
  ['detectLocalMode: BridgeInterface\ndetectLocal: {bridgeInterface: cbr0}'],
  [
    'clusterCIDR: "10.0.0.0/8,fd00::/8,10.1.0.0/16"',
    `${detectLocal}.ClusterCIDRs: Invalid value: ["10.0.0.0/8","fd00::/8","10.1.0.0/16"]: ${notAPair}`,
  ],
  [
    'clusterCIDR: "10.0.0.0/8,11.0.0.0/8"',
    `${detectLocal}.ClusterCIDRs: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: ${notAPair}`,
  ],
  ['clusterCIDR: "10.0.0.0/8,foo"', `${detectLocal}.ClusterCIDRs[1]: Invalid value: "foo": ${notACidr}`],
  ['clusterCIDR: "10.0.0.0/8, fd00::/8"', `${detectLocal}.ClusterCIDRs[1]: Invalid value: " fd00::/8": ${notACidr}`],
  ['clusterCIDR: "fd00::/8"'],
  ['clusterCIDR: "10.0.0.0/8,fd00::/8"'],
  ['clusterCIDR: ""'],
  ['detectLocalMode: NodeCIDR\nclusterCIDR: foo'],
  [
    'nodePortAddresses: [primary, 127.0.0.1/32]',
    `${root}.NodePortAddresses[0]: Invalid value: "primary": can't use both 'primary' and CIDRs`,
  ],
  [
    'nodePortAddresses: [127.0.0.1/32, primary]',
    `${root}.NodePortAddresses[1]: Invalid value: "primary": can't use both 'primary' and CIDRs`,
  ],
  [
    'nodePortAddresses: [foo, primary, bar]',
    `${root}.NodePortAddresses[0]: Invalid value: "foo": must be a valid CIDR`,
    `${root}.NodePortAddresses[1]: Invalid value: "primary": can't use both 'primary' and CIDRs`,
  ],
  ['nodePortAddresses: [primary]'],
  [
    'nodePortAddresses: [10.20.30.40]',
    `${root}.NodePortAddresses[0]: Invalid value: "10.20.30.40": must be a valid CIDR`,
  ],
  [
    'mode: ipvs\nipvs: {excludeCIDRs: [foo, 10.0.0.0/8, bar], tcpTimeout: -1s, tcpFinTimeout: -2s, udpTimeout: -3s}',
    `${root}.KubeProxyIPVSConfiguration.TCPTimeout: Invalid value: "-1s": ${notNegative}`,
    `${root}.KubeProxyIPVSConfiguration.TCPFinTimeout: Invalid value: "-2s": ${notNegative}`,
    `${root}.KubeProxyIPVSConfiguration.UDPTimeout: Invalid value: "-3s": ${notNegative}`,
    `${root}.KubeProxyIPVSConfiguration.ExcludeCidrs[0]: Invalid value: "foo": must be a valid CIDR`,
    `${root}.KubeProxyIPVSConfiguration.ExcludeCidrs[2]: Invalid value: "bar": must be a valid CIDR`,
  ],
  ['mode: iptables\nipvs: {excludeCIDRs: [foo], tcpTimeout: -1s, tcpFinTimeout: -1s, udpTimeout: -1s}'],
  ['clientConnection: {burst: -5}', `${root}.ClientConnection.Burst: Invalid value: -5: ${notNegative}`],
  ['clientConnection: {qps: -1}'],
  ['showHiddenMetricsForVersion: "1.35"'],
  [
    'showHiddenMetricsForVersion: "1.20"',
    `${root}.ShowHiddenMetricsForVersion: Invalid value: "1.20": must be empty or 1.35: only the previous minor version has metrics to show`,
  ],
  [
    'showHiddenMetricsForVersion: foo',
    `${root}.ShowHiddenMetricsForVersion: Invalid value: "foo": must be empty or 1.35: only the previous minor version has metrics to show`,
  ],
]

for (const [file, ...problems] of examples) {
  test(`${problems.length === 0 ? 'valid' : 'invalid'}: ${file.replaceAll('\n', '; ')}`, async () => {
    const validation = validateConfig(await config([], { file }), 'linux')
    expect(validation.ok ? [] : validation.problems).toEqual(problems)
  })
}

test('problems come in the order of kube-proxy, as one message', async () => {
  const file = `
detectLocalMode: Guess
showHiddenMetricsForVersion: x
nodePortAddresses: [x]
metricsBindAddress: x
healthzBindAddress: x
bindAddress: x
configSyncPeriod: -1s
clientConnection: {burst: -1}
mode: nftables
oomScoreAdj: 1001
conntrack: {min: -1}
nftables: {masqueradeBit: 32, syncPeriod: -1s, minSyncPeriod: -2s}
iptables: {masqueradeBit: 32}`
  const message = await verdict([], { file })
  expect(message).toMatch(/^failed validate: \[.*\]$/)
  expect(
    [...message.matchAll(/KubeProxyConfiguration\.(?:\w+\.)*(\w+)[^:]*: (?:Invalid|Unsupp)/g)].map((match) => match[1]),
  ).toEqual([
    'MasqueradeBit',
    'MasqueradeBit',
    'Min',
    'OOMScoreAdj',
    'Burst',
    'ConfigSyncPeriod',
    'SyncPeriod',
    'MinSyncPeriod',
    'BindAddress',
    'HealthzBindAddress',
    'MetricsBindAddress',
    'NodePortAddresses',
    'ShowHiddenMetricsForVersion',
    'DetectLocalMode',
  ])
})

test('each platform has its modes', async () => {
  const on = (platform: NodeJS.Platform, mode: string) => verdict([`--proxy-mode=${mode}`], { platform })
  expect(await on('win32', 'iptables')).toMatch(/must be kernelspace, userspace or blank/)
  expect(await on('darwin', 'iptables')).toMatch(/must be userspace or blank/)
  for (const mode of ['', 'kernelspace', 'userspace']) expect(await on('win32', mode)).toBe('valid')
  for (const mode of ['', 'iptables', 'ipvs', 'nftables', 'userspace']) expect(await on('linux', mode)).toBe('valid')
})

test('wrong logging settings are reported before all others', async () => {
  const logging = async (fields: string) => verdict([], { file: `oomScoreAdj: 1001\nlogging: ${fields}` })
  expect(await logging('{format: xml}')).toBe(
    'initialize logging: logging.format: Invalid value: "xml": unsupported log format: use text or json',
  )
  expect(await logging('{flushFrequency: -1s}')).toMatch(/logging\.flushFrequency: Invalid value: "-1s"/)
  expect(await logging('{flushFrequency: -5}')).toMatch(/logging\.flushFrequency: Invalid value: -5/)
  expect(await logging('{verbosity: 2147483648}')).toMatch(/logging\.verbosity: Invalid value: 2147483648/)
  expect(await logging('{format: json, vmodule: [{filePattern: a, verbosity: 1}]}')).toMatch(
    /logging\.vmodule: Forbidden/,
  )
  expect(await logging('{vmodule: [{filePattern: ""}, {filePattern: a=b, verbosity: 4294967295}]}')).toMatch(
    /\[logging\.vmodule\[0\]: Required value: .*, logging\.vmodule\[1\]: Invalid value: "a=b": .*, logging\.vmodule\[1\]: Invalid value: 4294967295: /,
  )
  expect(await logging('{options: {text: {splitStream: true}, json: {infoBufferSize: 1k}}}')).toMatch(
    /\[logging\.options\.text\.splitStream: Forbidden: .*, logging\.options\.json\.infoBufferSize: Forbidden: /,
  )
})

test('logging options need their gates', async () => {
  expect(await verdict(['--logging-format=json'])).toBe('valid')
  expect(await verdict(['--logging-format=json', '--feature-gates=LoggingBetaOptions=false'])).toMatch(/Forbidden/)
  expect(await verdict(['--log-text-split-stream', '--feature-gates=LoggingAlphaOptions=true'])).toBe('valid')
  expect(await verdict(['--log-text-split-stream', '--feature-gates=AllAlpha=true'])).toBe('valid')
  expect(await verdict(['--log-text-split-stream'])).toMatch(/logging\.options\.text\.splitStream: Forbidden/)
})

test('the mark bit is that of the mode', async () => {
  const file = 'iptables: {masqueradeBit: 3}\nnftables: {masqueradeBit: 4}\nmode: '
  expect(masqueradeBit(await config([], { file: `${file}nftables` }))).toBe(4)
  for (const mode of ['iptables', 'ipvs']) expect(masqueradeBit(await config([], { file: file + mode }))).toBe(3)
})
