import { expect, test } from 'vitest'
import { completion, config, parsed, verdict } from '../testing/command-line.ts'
import { completeOptions } from './complete-options.ts'

test('the sync flags named after iptables serve every mode but ipvs', async () => {
  const flags = [
    '--iptables-sync-period=36s',
    '--iptables-min-sync-period=3s',
    '--ipvs-sync-period=16s',
    '--ipvs-min-sync-period=7s',
  ]
  for (const mode of ['iptables', 'nftables', 'userspace', 'kernelspace', ''])
    expect(await config([...flags, `--proxy-mode=${mode}`])).toMatchObject({
      syncPeriodMs: 36_000,
      minSyncPeriodMs: 3_000,
    })
  expect(await config([...flags, '--proxy-mode=ipvs'])).toMatchObject({ syncPeriodMs: 16_000, minSyncPeriodMs: 7_000 })
})

test('ipvs by flag waits 1s between syncs, ipvs by file does not wait', async () => {
  expect(await config(['--proxy-mode=ipvs'])).toMatchObject({ syncPeriodMs: 30_000, minSyncPeriodMs: 1_000 })
  expect(await config([], { file: 'mode: ipvs' })).toMatchObject({ syncPeriodMs: 30_000, minSyncPeriodMs: 0 })
})

test('in nftables mode --masquerade-all counts, the mark bit of iptables does not, and node ports are on the primary addresses', async () => {
  const flags = ['--proxy-mode=nftables', '--masquerade-all', '--iptables-masquerade-bit=3']
  expect(await config(flags)).toMatchObject({
    masqueradeAll: true,
    nftables: { masqueradeBit: 14 },
    iptables: { masqueradeBit: 3 },
    nodePortAddresses: ['primary'],
  })
})

test('nftables mode leaves node port addresses alone when they are given', async () => {
  const { nodePortAddresses } = await config([], { file: 'mode: nftables\nnodePortAddresses: [10.0.0.0/8]' })
  expect(nodePortAddresses).toEqual(['10.0.0.0/8'])
})

test('two cluster CIDRs keep their order', async () => {
  const { detectLocal } = await config(['--cluster-cidr=2002:0:0:1234::/64,10.0.0.0/14'])
  expect(detectLocal.clusterCidrs).toEqual(['2002:0:0:1234::/64', '10.0.0.0/14'])
})

test('an empty --cluster-cidr is invalid where cluster CIDRs are used, and only there', async () => {
  expect(await verdict(['--cluster-cidr='])).toMatch(/DetectLocalConfiguration\.ClusterCIDRs\[0\]: Invalid value: ""/)
  expect(await verdict(['--cluster-cidr=', '--detect-local-mode=NodeCIDR'])).toBe('valid')
})

test('--hostname-override is trimmed, lower-cased, and wins over the file', async () => {
  expect((await config(['--hostname-override=  BAR '])).hostnameOverride).toBe('bar')
  const file = 'hostnameOverride: other'
  expect((await config(['--hostname-override=  BAR '], { file })).hostnameOverride).toBe('bar')
  expect((await config([], { file })).hostnameOverride).toBe('other')
})

test('a blank --hostname-override is refused', async () => {
  expect(await verdict(['--hostname-override=   '])).toMatch(/^failed complete: empty hostname-override is invalid/)
})

test('a flag for what the file can say is ignored with --config, and a warning says so', async () => {
  const { ipvs } = await config(['--ipvs-scheduler=sh'], { file: 'mode: ipvs' })
  expect(ipvs.scheduler).toBe('')
  expect(parsed(['--config=/x', '--ipvs-scheduler=sh', '-v=3', '--hostname-override=a']).warnings).toEqual([
    'Flag --ipvs-scheduler is ignored because --config is given: set ipvs.scheduler in /x instead',
  ])
})

test('logging flags that were given win over the file, and vmodule lists are joined, flags first', async () => {
  const file = `
logging:
  verbosity: 10
  format: json
  vmodule:
    - { filePattern: foo, verbosity: 6 }
    - { filePattern: bar, verbosity: 8 }`
  const { logging } = await config(['-v=7', '--vmodule', 'goo=8'], { file })
  expect(logging).toMatchObject({ verbosity: 7, format: 'json' })
  expect(logging.vmodule.map((item) => `${item.filePattern}=${item.verbosity}`)).toEqual(['goo=8', 'foo=6', 'bar=8'])
})

test('-v counts when the file has no logging section', async () => {
  expect((await config(['-v=5'], { file: '' })).logging.verbosity).toBe(5)
})

test('--healthz-port completes an address without a port and leaves one with a port alone', async () => {
  const healthz = async (...flags: string[]) => (await config(flags)).healthzBindAddress
  expect(await healthz('--healthz-port=1234')).toBe('0.0.0.0:10256')
  expect(await healthz('--healthz-bind-address=1.2.3.4', '--healthz-port=12345')).toBe('1.2.3.4:12345')
  expect(await healthz('--healthz-bind-address=fd00:1::5', '--healthz-port=12345')).toBe('[fd00:1::5]:12345')
  expect(await healthz('--healthz-bind-address=1.2.3.4:80', '--healthz-port=12345')).toBe('1.2.3.4:80')
  expect(await healthz('--healthz-bind-address=1.2.3.4')).toBe('1.2.3.4:10256')
})

test('port flags do not complete an address that is written with --write-config-to', async () => {
  const flags = ['--healthz-bind-address=1.2.3.4', '--write-config-to=/tmp/out.yaml']
  expect(await verdict(flags)).toMatch(/HealthzBindAddress: Invalid value: "1\.2\.3\.4": must be IP:port/)
})

test('--healthz-port=0 turns the health server off; --metrics-port=0 is invalid', async () => {
  expect((await config(['--healthz-port=0'])).healthzBindAddress).toBe('')
  expect(await verdict(['--healthz-port=0'])).toBe('valid')
  expect(await verdict(['--metrics-port=0'])).toBe(
    'failed validate: KubeProxyConfiguration.MetricsBindAddress: Invalid value: "": must be IP:port',
  )
})

test('an empty address flag changes nothing', async () => {
  const { metricsBindAddress, bindAddress } = await config(['--metrics-bind-address=', '--bind-address='])
  expect({ metricsBindAddress, bindAddress }).toEqual({ metricsBindAddress: '127.0.0.1:10249', bindAddress: '0.0.0.0' })
})

test('an IPv6 bind address moves the other addresses when it is in the file, not when it is a flag', async () => {
  expect(await config(['--bind-address=::'])).toMatchObject({
    healthzBindAddress: '0.0.0.0:10256',
    metricsBindAddress: '127.0.0.1:10249',
  })
  expect(await config([], { file: 'bindAddress: "::"' })).toMatchObject({
    healthzBindAddress: '[::]:10256',
    metricsBindAddress: '[::1]:10249',
  })
})

test('feature gates are refused when unknown or locked, by flag and by file', async () => {
  expect(await verdict(['--feature-gates=Foo=true'])).toBe('failed complete: unrecognized feature gate: Foo')
  expect(await verdict(['--feature-gates=PreferSameTrafficDistribution=false,MultiCIDRServiceAllocator=false'])).toBe(
    'failed complete: [cannot set feature gate MultiCIDRServiceAllocator to false, feature is locked to true, ' +
      'cannot set feature gate PreferSameTrafficDistribution to false, feature is locked to true]',
  )
  expect(await verdict([], { file: 'featureGates: {Foo: true}' })).toMatch(/unrecognized feature gate: Foo/)
  expect(await verdict(['--feature-gates=AllowServiceExternalIPs=false'])).toBe('valid')
  expect(await verdict(['--feature-gates=MultiCIDRServiceAllocator=true'])).toBe('valid')
})

test('an empty mode becomes the default of the platform', async () => {
  expect(await config([])).toMatchObject({ mode: 'iptables', detectLocalMode: 'ClusterCIDR' })
  expect(await config([], { platform: 'win32' })).toMatchObject({
    mode: 'kernelspace',
    detectLocalMode: '',
    winkernel: { rootHnsEndpointName: 'cbr0' },
  })
  expect(await config([], { platform: 'win32', file: '' })).toMatchObject({
    winkernel: { rootHnsEndpointName: 'cbr0' },
  })
  expect(await config([], { platform: 'darwin' })).toMatchObject({ mode: 'userspace' })
})

test('the Windows flags are part of the configuration on Windows', async () => {
  const flags = [
    '--windows-service',
    '--source-vip=10.0.0.1',
    '--network-name=l2',
    '--enable-dsr',
    '--forward-healthcheck-vip',
  ]
  expect(await config(flags, { platform: 'win32' })).toMatchObject({
    windowsRunAsService: true,
    winkernel: { sourceVip: '10.0.0.1', networkName: 'l2', enableDsr: true, forwardHealthCheckVip: true },
  })
})

test('a configuration file that cannot be read is an error that names it', async () => {
  const { options } = parsed(['--config=/nowhere/config.yaml'])
  const readTextFile = () => Promise.reject(new Error('ENOENT: no such file or directory'))
  expect(await completeOptions(options, { platform: 'linux', readTextFile })).toEqual({
    ok: false,
    message:
      'failed complete: cannot read the configuration file /nowhere/config.yaml: ENOENT: no such file or directory',
  })
})

test('the file that was read is handed on with its content, to be watched', async () => {
  const done = await completion([], { file: 'mode: ipvs' })
  expect(done.ok && done.file?.path).toBe('/etc/fairlead/config.yaml')
  expect(done.ok && done.file?.content).toContain('mode: ipvs')
})

test('a second YAML document is a warning, not silence', async () => {
  const done = await completion([], { file: 'mode: ipvs\n---\nmode: nftables\n' })
  expect(done.ok && [done.config.mode, done.warnings]).toEqual([
    'ipvs',
    [
      '/etc/fairlead/config.yaml: a YAML document is not used: only the first one is read, and one of kind FairleadConfiguration; remove the others',
    ],
  ])
})

test('a flag of Fairlead wins over its document in the file', async () => {
  const file = `---
apiVersion: fairlead.dev/v1alpha1
kind: FairleadConfiguration
serviceSeriesLimit: 5
strictSourceRanges: true
externalIPGuard: deny
externalIPCIDRs: [192.0.2.0/24]
externalIPGuardNamespaces: true
destroyOldConnections: false
`
  const flags = ['--service-series-limit=7', '--external-ip-guard=off', '--destroy-old-connections']
  const { fairlead } = await config(flags, { file })
  const kept = { strictSourceRanges: true, externalIPCIDRs: ['192.0.2.0/24'], externalIPGuardNamespaces: true }
  const won = { serviceSeriesLimit: 7, externalIPGuard: 'off', destroyOldConnections: true }
  expect(fairlead).toEqual({ ...won, ...kept })
})

test.each([
  ['', [], undefined],
  ['localhostNodePorts: true', [], true],
  ['localhostNodePorts: true', ['--localhost-nodeports=false'], false],
  ['localhostNodePorts: true', ['--localhost-nodeports=auto'], undefined],
  ['localhostNodePorts: false', ['--localhost-nodeports'], true],
])('node ports on localhost, by a file with %j and flags %j: %j', async (field, flags, wanted) => {
  const file = `---\napiVersion: fairlead.dev/v1alpha1\nkind: FairleadConfiguration\n${field}`
  expect((await config(flags, { file })).fairlead.localhostNodePorts).toBe(wanted)
})

test('on Windows, windowsRunAsService in the file makes no service, and that is said', async () => {
  const file = 'windowsRunAsService: true'
  const warnings = async (args: readonly string[], platform: NodeJS.Platform) => {
    const done = await completion(args, { file, platform })
    return done.ok ? done.warnings : [done.message]
  }
  expect(await warnings([], 'win32')).toEqual([expect.stringMatching(/windowsRunAsService.*use --windows-service/)])
  expect(await warnings(['--windows-service'], 'win32')).toEqual([])
  expect(await warnings([], 'linux')).toEqual([])
})
