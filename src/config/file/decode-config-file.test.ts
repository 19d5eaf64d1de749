import { expect, test } from 'vitest'
import { fileOf } from '../testing/command-line.ts'
import { configFromV1alpha1 } from './config-from-v1alpha1.ts'
import { decodeConfigFile } from './decode-config-file.ts'

test('an unknown field is refused with its full path, its line and the nearest known field', () => {
  expect(problems('conntrack:\n  maxPerCpu: 1\nfoo: 1')).toEqual([
    'line 4: unknown field "conntrack.maxPerCpu", did you mean "conntrack.maxPerCore"?',
    'line 5: unknown field "foo"',
  ])
})

test('a field in the wrong case is unknown', () => {
  expect(problems('Mode: ipvs')).toEqual(['line 3: unknown field "Mode", did you mean "mode"?'])
})

test('a duplicate field is refused with both lines', () => {
  expect(problems('mode: ipvs\nipvs: {}\nmode: iptables')).toEqual([
    'line 5: duplicate field "mode", first set on line 3: remove one',
  ])
  expect(problems('featureGates:\n  A: true\n  A: false')).toEqual([
    'line 5: duplicate field "featureGates.A", first set on line 4: remove one',
  ])
})

test('unknown fields inside lists are found too', () => {
  expect(problems('logging:\n  vmodule:\n    - pattern: a')).toEqual([
    'line 5: unknown field "logging.vmodule[0].pattern", did you mean "logging.vmodule[0].filePattern"?',
  ])
})

test('text that is not YAML is refused with its line', () => {
  expect(problems('bindAddress: ::')).toEqual([expect.stringMatching(/^line 3: /)])
  expect(problems('mode: [')).toEqual([expect.stringMatching(/^line \d: /)])
})

test('another kind, another version, or none is refused', () => {
  const decode = (content: string) => decodeConfigFile(content)
  expect(decode('kind: KubeProxyConfiguration')).toEqual(refusedWith(/"apiVersion" is missing/))
  expect(decode('apiVersion: kubeproxy.config.k8s.io/v1alpha1')).toEqual(refusedWith(/"kind" is missing/))
  expect(
    decode('apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: 3'),
  ).toEqual(refusedWith(/no kind "KubeSchedulerConfiguration" is known/))
  expect(decode('apiVersion: kubeproxy.config.k8s.io/v1alpha2\nkind: KubeProxyConfiguration')).toEqual(
    refusedWith(/v1alpha2/),
  )
  for (const empty of ['', '# nothing\n']) expect(decode(empty)).toEqual(refusedWith(/the file is empty/))
  expect(decode('just text')).toEqual(refusedWith(/"kind" is missing/))
})

test('a problem names its field, and what kube-proxy does with it', () => {
  const about = (fields: string) => {
    const decoded = decodeConfigFile(fileOf(fields))
    return decoded.ok ? [] : decoded.problems.map(({ field, inKubeProxy }) => [field, inKubeProxy])
  }
  expect(about('conntrack: { min: many, maxPerCpu: 1 }\nmode: ipvs\nmode: ipvs')).toEqual([
    ['mode', 'ignored'],
    ['conntrack.min', 'refused'],
    ['conntrack.maxPerCpu', 'ignored'],
  ])
  expect(about('logging: { options: { text: { infoBufferSize: 12E } } }')).toEqual([
    ['logging.options.text.infoBufferSize', 'accepted'],
  ])
  const second = '---\napiVersion: fairlead.dev/v1alpha1\nkind: FairleadConfiguration\n'
  expect(about(`${second}serviceSeriesLimit: many`), 'it does not read that document').toEqual([
    ['serviceSeriesLimit', 'accepted'],
  ])
})

test('a duration must be a string', () => {
  expect(problems('configSyncPeriod: 5')).toEqual([
    'line 3: configSyncPeriod: expected a duration in quotes, such as "30s" or "1h30m", got 5',
  ])
  expect(problems('configSyncPeriod: ""')).toHaveLength(1)
  expect(config('configSyncPeriod: "5s"').configSyncPeriodMs).toBe(5_000)
  expect(config('configSyncPeriod: 5s').configSyncPeriodMs).toBe(5_000)
})

test('only logging.flushFrequency may be a number, of nanoseconds', () => {
  expect(config('logging: {flushFrequency: 1000000000}').logging.flushFrequencyMs).toBe(1_000)
  expect(config('logging: {flushFrequency: 1m}').logging.flushFrequencyMs).toBe(60_000)
  expect(problems('logging: {flushFrequency: 1.5}')).toHaveLength(1)
})

test('a value of the wrong type is refused with what was expected and found', () => {
  expect(
    problems(
      'hostnameOverride: 123\noomScoreAdj: "5"\nnodePortAddresses: [10.0.0.0/8, 3]\nfeatureGates: {A: 1}\nipvs: 3\nbindAddressHardFail: 1\nconntrack: {min: 1.5}',
    ),
  ).toEqual([
    'line 3: hostnameOverride: expected a string, got 123',
    'line 4: oomScoreAdj: expected a whole number between -2147483648 and 2147483647, got "5"',
    'line 5: nodePortAddresses[1]: expected a string, got 3',
    'line 6: featureGates.A: expected true or false, got 1',
    'line 7: ipvs: expected an object, got 3',
    'line 8: bindAddressHardFail: expected true or false, got 1',
    'line 9: conntrack.min: expected a whole number between -2147483648 and 2147483647, got 1.5',
  ])
})

test('YAML is read as kube-proxy reads it', () => {
  expect(config('bindAddressHardFail: yes\nenableProfiling: on')).toMatchObject({
    bindAddressHardFail: true,
    enableProfiling: true,
  })
  expect(config('oomScoreAdj: 010').oomScoreAdj).toBe(8)
  expect(config('hostnameOverride: 2001-01-01').hostnameOverride).toBe('2001-01-01')
  expect(config('hostnameOverride: 1:30').hostnameOverride).toBe('1:30')
  expect(config('mode: &m ipvs\nhostnameOverride: *m').hostnameOverride).toBe('ipvs')
  expect(config('conntrack: null\nnodePortAddresses:\nmode: ~').conntrack.min).toBe(131072)
})

test('JSON is read too, with tabs', () => {
  const content =
    '{\n\t"apiVersion": "kubeproxy.config.k8s.io/v1alpha1",\n\t"kind": "KubeProxyConfiguration",\n\t"mode": "ipvs"\n}'
  const decoded = decodeConfigFile(content)
  expect(decoded.ok && decoded.fields.mode).toBe('ipvs')
})

test('an empty configuration has every default', () => {
  expect(config('')).toEqual({
    featureGates: {},
    clientConnection: {
      kubeconfig: '',
      acceptContentTypes: '',
      contentType: 'application/vnd.kubernetes.protobuf',
      qps: 5,
      burst: 10,
    },
    logging: {
      format: 'text',
      flushFrequencyMs: 5_000,
      isFlushFrequencyNumeric: false,
      verbosity: 0,
      vmodule: [],
      text: { splitStream: false, infoBufferSize: { bytes: 0, text: '0' } },
      json: { splitStream: false, infoBufferSize: { bytes: 0, text: '0' } },
    },
    hostnameOverride: '',
    bindAddress: '0.0.0.0',
    healthzBindAddress: '0.0.0.0:10256',
    metricsBindAddress: '127.0.0.1:10249',
    bindAddressHardFail: false,
    enableProfiling: false,
    showHiddenMetricsForVersion: '',
    mode: '',
    syncPeriodMs: 30_000,
    minSyncPeriodMs: 1_000,
    masqueradeAll: false,
    iptables: { masqueradeBit: 14, localhostNodePorts: true },
    ipvs: { scheduler: '', excludeCidrs: [], strictArp: false, tcpTimeoutMs: 0, tcpFinTimeoutMs: 0, udpTimeoutMs: 0 },
    nftables: { masqueradeBit: 14 },
    winkernel: {
      networkName: '',
      sourceVip: '',
      enableDsr: false,
      rootHnsEndpointName: '',
      forwardHealthCheckVip: false,
    },
    detectLocalMode: '',
    detectLocal: { bridgeInterface: '', interfaceNamePrefix: '', clusterCidrs: [] },
    nodePortAddresses: [],
    oomScoreAdj: -999,
    conntrack: {
      maxPerCore: 32768,
      min: 131072,
      tcpEstablishedTimeoutMs: 86_400_000,
      tcpCloseWaitTimeoutMs: 3_600_000,
      tcpBeLiberal: false,
      udpTimeoutMs: 0,
      udpStreamTimeoutMs: 0,
    },
    configSyncPeriodMs: 900_000,
    portRange: '',
    windowsRunAsService: false,
    fairlead: {
      serviceSeriesLimit: 2000,
      strictSourceRanges: false,
      destroyOldConnections: false,
      externalIPGuard: 'warn',
      externalIPCIDRs: [],
      externalIPGuardNamespaces: false,
    },
  })
})

test('a bare IP gets the port of its server', () => {
  expect(config('metricsBindAddress: 127.0.0.1\nhealthzBindAddress: 127.0.0.1')).toMatchObject({
    metricsBindAddress: '127.0.0.1:10249',
    healthzBindAddress: '127.0.0.1:10256',
  })
  expect(config('healthzBindAddress: fd00::1').healthzBindAddress).toBe('[fd00::1]:10256')
})

test('zero means unset for some fields and zero for others', () => {
  expect(config('iptables: {minSyncPeriod: 0s}').minSyncPeriodMs).toBe(1_000)
  expect(config('configSyncPeriod: 0s').configSyncPeriodMs).toBe(900_000)
  expect(config('clientConnection: {qps: 0, burst: 0}').clientConnection).toMatchObject({ qps: 5, burst: 10 })
  const zeros = config(
    'oomScoreAdj: 0\niptables: {masqueradeBit: 0, localhostNodePorts: false}\nconntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}',
  )
  expect(zeros).toMatchObject({
    oomScoreAdj: 0,
    iptables: { masqueradeBit: 0, localhostNodePorts: false },
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeoutMs: 0, tcpCloseWaitTimeoutMs: 0 },
  })
})

const secondDocument = '---\napiVersion: fairlead.dev/v1alpha1\nkind: FairleadConfiguration\n'

test('a second document has what kube-proxy does not have', () => {
  expect(
    config(
      `mode: nftables\n${secondDocument}serviceSeriesLimit: 0\nstrictSourceRanges: true\nexternalIPGuard: deny\nexternalIPCIDRs: [192.0.2.0/24]\nexternalIPGuardNamespaces: true`,
    ),
  ).toMatchObject({
    mode: 'nftables',
    fairlead: {
      serviceSeriesLimit: 0,
      strictSourceRanges: true,
      externalIPGuard: 'deny',
      externalIPCIDRs: ['192.0.2.0/24'],
      externalIPGuardNamespaces: true,
    },
  })
})

test('problems of the second document name their line, too', () => {
  expect(problems(`mode: nftables\n${secondDocument}serviceSeriesLimits: 5`)).toEqual([
    'line 7: unknown field "serviceSeriesLimits", did you mean "serviceSeriesLimit"?',
  ])
  expect(problems(`${secondDocument}externalIPGuard: refuse\nexternalIPCIDRs: [192.0.2.0]`)).toEqual([
    'line 6: externalIPGuard: expected warn or deny or off, got "refuse"',
    'line 7: externalIPCIDRs[0]: expected a range of addresses, such as 192.0.2.0/24, got "192.0.2.0"',
  ])
  expect(problems(`---\napiVersion: fairlead.dev/v2\nkind: FairleadConfiguration`)).toEqual([
    'no kind "FairleadConfiguration" is known for version "fairlead.dev/v2": use kind "FairleadConfiguration" of version "fairlead.dev/v1alpha1"',
  ])
})

test('only the userspace mode has a range of proxy ports', () => {
  const rangeIn = (mode: string) => config(`mode: ${mode}\nportRange: 40000-40999`).portRange
  expect(['userspace', 'iptables', 'nftables', 'ipvs', 'kernelspace'].map(rangeIn)).toEqual([
    '40000-40999',
    '',
    '',
    '',
    '',
  ])
})

test('each mode takes the sync periods and masqueradeAll of its own section', () => {
  const sections = `
iptables: {syncPeriod: 11s, minSyncPeriod: 1s, masqueradeAll: true}
ipvs: {syncPeriod: 22s, minSyncPeriod: 2s}
nftables: {syncPeriod: 33s, minSyncPeriod: 3s}
`
  const settings = (mode: string) => {
    const { syncPeriodMs, minSyncPeriodMs, masqueradeAll } = config(`mode: ${mode}${sections}`)
    return [syncPeriodMs, minSyncPeriodMs, masqueradeAll]
  }
  expect(settings('iptables')).toEqual([11_000, 1_000, true])
  expect(settings('ipvs')).toEqual([22_000, 2_000, true])
  expect(settings('nftables')).toEqual([33_000, 3_000, false])
  expect(settings('userspace')).toEqual([11_000, 1_000, true])
  expect(settings('kernelspace')).toEqual([11_000, 1_000, true])
})

function config(fields: string) {
  const decoded = decodeConfigFile(fileOf(fields))
  if (!decoded.ok) throw new Error(decoded.problems.map(({ text }) => text).join('\n'))
  return configFromV1alpha1(decoded.fields, decoded.fairlead)
}

function problems(fields: string): readonly string[] {
  const decoded = decodeConfigFile(fileOf(fields))
  return decoded.ok ? [] : decoded.problems.map(({ text }) => text)
}

function refusedWith(problem: RegExp) {
  const text = expect.stringMatching(problem) as string
  return { ok: false, problems: [{ text, field: undefined, inKubeProxy: 'refused' }] }
}
