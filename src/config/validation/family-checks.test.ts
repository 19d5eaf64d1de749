import { expect, test } from 'vitest'
import { defaultConfig } from '../file/config-from-v1alpha1.ts'
import type { UncheckedConfig } from '../proxy-config.ts'
import { checkFamilies, nodePortWarnings } from './family-checks.ts'

const v4 = '10.0.0.0/8'
const v6 = 'fd00::/8'
const ipv4Node = { podCidrs: [], primaryFamily: 'ipv4' } as const

test('node ports that are open everywhere are worth a warning', () => {
  expect(nodePortWarnings(given({}), ipv4Node)).toEqual([expect.stringContaining('nodePortAddresses is unset')])
})

test('in nftables mode they are open everywhere only when the node has no known address, and that is said', () => {
  expect(nodePortWarnings(given({ mode: 'nftables' }), ipv4Node)).toEqual([expect.stringContaining('--node-address')])
})

test('node ports limited in one family of a dual-stack cluster are worth a warning', () => {
  const limited = given({ nodePortAddresses: [v4] })
  expect(nodePortWarnings(limited, ipv4Node)).toEqual([])
  expect(nodePortWarnings(limited, { ...ipv4Node, podCidrs: [v4, v6] })).toEqual([
    expect.stringContaining('open on all local IPv6 IPs'),
  ])
  expect(nodePortWarnings(given({ nodePortAddresses: [v4, v6] }), { ...ipv4Node, podCidrs: [v4, v6] })).toEqual([])
})

test('node ports limited only in the family that is not primary are worth a warning', () => {
  expect(nodePortWarnings(given({ nodePortAddresses: [v6] }), ipv4Node)).toEqual([
    expect.stringContaining('open on all local IPv4 IPs'),
  ])
})

test('cluster CIDRs of the wrong family stop a single-stack proxy that needs them', () => {
  const wrong = { detectLocal: { bridgeInterface: '', interfaceNamePrefix: '', clusterCidrs: [v6] } }
  const byCluster = given({ ...wrong, detectLocalMode: 'ClusterCIDR' })
  expect(single(byCluster).fatal).toMatch(
    /^kube-proxy configuration is incorrect: the cluster is IPv4-only but clusterCIDR/,
  )
  expect(dual(byCluster)).toMatchObject({
    warnings: [expect.stringContaining('IPv4-primary') as string],
    fatal: undefined,
  })
  expect(single(given({ ...wrong, detectLocalMode: 'NodeCIDR' }))).toMatchObject({
    warnings: [expect.any(String) as string],
    fatal: undefined,
  })
})

test('pod CIDRs of the wrong family stop the proxy in NodeCIDR mode, single-stack or not', () => {
  const byNode = given({ detectLocalMode: 'NodeCIDR' })
  expect(single(byNode, [v6]).fatal).toContain('spec.podCIDRs')
  expect(dual(byNode, [v6]).fatal).toContain('spec.podCIDRs')
  expect(single(given({}), [v6])).toMatchObject({ warnings: [expect.any(String) as string], fatal: undefined })
  expect(single(byNode, [v6, v4])).toEqual({ warnings: [], fatal: undefined })
})

test('a source VIP of the wrong family is always worth a warning', () => {
  const config = given({ winkernel: { ...defaultConfig().winkernel, sourceVip: 'fd00::1' } })
  expect([single(config).warnings.length, dual(config).warnings.length]).toEqual([1, 1])
})

test('excluded CIDRs and server addresses of the wrong family matter in a single-stack cluster only', () => {
  const config = given({
    ipvs: { ...defaultConfig().ipvs, excludeCidrs: [v6] },
    healthzBindAddress: '[::1]:10256',
    metricsBindAddress: '[::]:10249',
  })
  expect(single(config)).toEqual({
    warnings: [
      'the cluster is IPv4-only but ipvs.excludeCIDRs has only IPv6 addresses',
      'the cluster is IPv4-only but healthzBindAddress is IPv6',
    ],
    fatal: undefined,
  })
  expect(dual(config).warnings).toEqual([])
})

function given(changes: Partial<UncheckedConfig>): UncheckedConfig {
  return { ...defaultConfig(), ...changes }
}

function single(config: UncheckedConfig, podCidrs: readonly string[] = []) {
  return checkFamilies(config, { ...ipv4Node, podCidrs, isDualStack: false })
}

function dual(config: UncheckedConfig, podCidrs: readonly string[] = []) {
  return checkFamilies(config, { ...ipv4Node, podCidrs, isDualStack: true })
}
