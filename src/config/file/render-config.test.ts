import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { config, type Given } from '../testing/command-line.ts'
import { configFromV1alpha1 } from './config-from-v1alpha1.ts'
import { decodeConfigFile } from './decode-config-file.ts'
import { renderConfigYaml } from './render-config.ts'

const manyFlags = [
  '--feature-gates=AllowServiceExternalIPs=false',
  '--cluster-cidr=10.0.0.0/14,2002:0:0:1234::/64',
  '--nodeport-addresses=10.0.0.0/8,11.0.0.0/8',
  '--nodeport-addresses=fd00::/8',
  '--conntrack-udp-timeout=100ns',
  '--conntrack-udp-timeout-stream=1.5us',
  '--conntrack-tcp-timeout-established=90s',
  '--hostname-override=YES',
  '--kube-api-qps=0.1',
  '--kube-api-burst=0x10',
  '--oom-score-adj=-1',
  '--vmodule=a=1,b=2',
  '-v3',
  '--profiling',
  '--ipvs-exclude-cidrs=10.0.0.0/8',
  '--iptables-localhost-nodeports=false',
]

const recorded: readonly (readonly [name: string, flags: readonly string[], given?: Given])[] = [
  ['defaults', []],
  ['ipvs-by-flag', ['--proxy-mode=ipvs']],
  ['ipvs-by-file', [], { file: 'mode: ipvs\n' }],
  ['nftables-masquerade-all', ['--proxy-mode=nftables', '--masquerade-all', '--iptables-masquerade-bit=3']],
  ['many-flags', manyFlags],
]

for (const [name, flags, given] of recorded) {
  test(`the configuration "${name}" is written byte for byte as kube-proxy writes it`, async () => {
    expect(renderConfigYaml(await config(flags, given))).toBe(
      readFileSync(new URL(`../testing/written-by-kube-proxy/${name}.yaml.txt`, import.meta.url), 'utf8'),
    )
  })
}

test('what is written can be read again and means the same', async () => {
  const written = await config(manyFlags)
  const decoded = decodeConfigFile(renderConfigYaml(written))
  expect(decoded.ok && configFromV1alpha1(decoded.fields, decoded.fairlead)).toEqual(written)
})

test('a flush frequency that came as a number is written as a number', async () => {
  const text = renderConfigYaml(await config([], { file: 'logging: {flushFrequency: 1500000000}' }))
  expect(text).toContain('flushFrequency: 1500000000\n')
})

test('windowsRunAsService is written only when true', async () => {
  expect(renderConfigYaml(await config(['--windows-service'], { platform: 'win32' }))).toContain(
    'windowsRunAsService: true',
  )
  expect(renderConfigYaml(await config([]))).not.toContain('windowsRunAsService')
})

test('what kube-proxy does not have is written as a second document, if it is not the default', async () => {
  const written = await config(['--service-series-limit=5', '--external-ip-cidrs=192.0.2.0/24'])
  expect(renderConfigYaml(written)).toContain('---\napiVersion: fairlead.dev/v1alpha1\n')
  const decoded = decodeConfigFile(renderConfigYaml(written))
  expect(decoded.ok && configFromV1alpha1(decoded.fields, decoded.fairlead)).toEqual(written)
})
