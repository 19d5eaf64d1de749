import { expect, test } from 'vitest'
import { config } from '../testing/command-line.ts'
import type { ProxyConfig } from '../proxy-config.ts'
import { configHash } from './config-hash.ts'
import { planReload } from './plan-reload.ts'

async function configOf(fields: string, flags: readonly string[] = []): Promise<ProxyConfig> {
  return (await config(flags, { file: fields })) as ProxyConfig
}

/** From one file to another one, both with the same mode. */
async function plan(before: string, after: string) {
  return planReload(await configOf(before), await configOf(after))
}

test('a file that says the same in other words changes nothing', async () => {
  const { live, restart, config: next } = await plan('mode: nftables', 'mode: "nftables"\nnftables: {syncPeriod: 30s}')
  expect({ live, restart }).toEqual({ live: [], restart: [] })
  expect(next).toEqual(await configOf('mode: nftables'))
})

test('what can change is named as the file has it, with both values', async () => {
  const {
    live,
    restart,
    config: next,
  } = await plan(
    'mode: nftables',
    `mode: nftables
nodePortAddresses: [10.0.0.0/8, 'fd00::/8']
nftables: {minSyncPeriod: 2s, masqueradeAll: true}
logging: {verbosity: 4, vmodule: [{filePattern: sync*, verbosity: 3}]}
---
apiVersion: fairlead.dev/v1alpha1
kind: FairleadConfiguration
serviceSeriesLimit: 10`,
  )
  expect(live).toEqual([
    { field: 'logging.verbosity', from: '0', to: '4', effect: 'log' },
    { field: 'logging.vmodule', from: '[]', to: '[sync*=3]', effect: 'log' },
    { field: 'nftables.minSyncPeriod', from: '1s', to: '2s', effect: 'sync loop' },
    { field: 'nftables.masqueradeAll', from: 'false', to: 'true', effect: 'rules' },
    { field: 'nodePortAddresses', from: '[primary]', to: '[10.0.0.0/8, fd00::/8]', effect: 'rules' },
    { field: 'serviceSeriesLimit', from: '2000', to: '10', effect: 'when used' },
  ])
  expect(restart).toEqual([])
  expect(next).toMatchObject({ masqueradeAll: true, minSyncPeriodMs: 2000, fairlead: { serviceSeriesLimit: 10 } })
})

test('what cannot change keeps its value, and the rest changes all the same', async () => {
  const after = await configOf('metricsBindAddress: 127.0.0.1:1\noomScoreAdj: 0')
  const { live, restart, config: next } = planReload(await configOf(''), { ...after, mode: 'nftables' })
  expect(live.map(({ field }) => field)).toEqual(['oomScoreAdj'])
  expect(restart).toEqual([
    {
      field: 'metricsBindAddress',
      from: '127.0.0.1:10249',
      to: '127.0.0.1:1',
      because: 'its port is opened at the start, and probes and scrapes have to follow',
    },
    { field: 'mode', from: 'iptables', to: 'nftables', because: 'another mode is another data plane' },
  ])
  expect(next).toMatchObject({ mode: 'iptables', metricsBindAddress: '127.0.0.1:10249', oomScoreAdj: 0 })
})

test('how local traffic is told apart changes as a whole, or not at all', async () => {
  const before = 'detectLocalMode: ClusterCIDR\nclusterCIDR: 10.0.0.0/8'
  const bridge = 'detectLocalMode: BridgeInterface\ndetectLocal: {bridgeInterface: cni0}'
  const there = await plan(before, bridge)
  expect(there.live).toEqual([])
  expect(there.restart.map(({ field }) => field)).toEqual([
    'detectLocalMode',
    'detectLocal.bridgeInterface',
    'clusterCIDR',
  ])
  expect(there.config).toEqual(await configOf(before))
  const another = await plan(before, 'detectLocalMode: ClusterCIDR\nclusterCIDR: 10.0.0.0/9')
  expect(another.live).toEqual([{ field: 'clusterCIDR', from: '[10.0.0.0/8]', to: '[10.0.0.0/9]', effect: 'rules' }])
})

test('each feature gate is a field of its own', async () => {
  const gates = 'featureGates: {AllowServiceExternalIPs: false, WatchListClient: false, ContextualLogging: true}'
  const { live, restart, config: next } = await plan('', gates)
  expect(live).toEqual([
    { field: 'featureGates.AllowServiceExternalIPs', from: 'true', to: 'false', effect: 'rules' },
    { field: 'featureGates.ContextualLogging', from: 'default', to: 'true', effect: 'none' },
  ])
  expect(restart.map(({ field, from }) => [field, from])).toEqual([['featureGates.WatchListClient', 'true']])
  expect(next.featureGates).toMatchObject({ AllowServiceExternalIPs: false, WatchListClient: true })
})

test('nothing is pending any more when the file is as it runs again', async () => {
  const running = await configOf('')
  const { config: next } = planReload(running, await configOf('mode: nftables\nnodePortAddresses: [10.0.0.0/8]'))
  expect(planReload(next, await configOf('nodePortAddresses: [10.0.0.0/8]')).restart).toEqual([])
})

test('the hash is that of the settings: not of the node, nor of where they come from', async () => {
  const fromFile = await configOf('mode: nftables\noomScoreAdj: 5', ['--hostname-override=a'])
  const fromFlags = (await config([
    '--proxy-mode=nftables',
    '--oom-score-adj=5',
    '--hostname-override=b',
  ])) as ProxyConfig
  expect(configHash(fromFile)).toMatch(/^[0-9a-f]{12}$/)
  expect(configHash(fromFile)).toBe(configHash(fromFlags))
  expect(configHash(fromFile)).not.toBe(configHash(await configOf('mode: nftables\noomScoreAdj: 6')))
})
