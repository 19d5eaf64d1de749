/** The plan of the ipvs mode against what kube-proxy 1.36 programmed, in all recorded scenarios. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { nodeAddresses } from '../src/backends/ipvs/node-addresses.ts'
import { planIpvs } from '../src/backends/ipvs/plan.ts'
import { renderPlan } from '../src/backends/ipvs/render.ts'
import { Catalog } from '../src/core/catalog.ts'
import { systemClock } from '../src/core/clock.ts'
import { localTraffic } from '../src/core/local-traffic.ts'
import { silentLogger } from '../src/core/logger.ts'
import { silentMetrics } from '../src/core/proxy-metrics.ts'
import { RouteTable } from '../src/core/route-table.ts'
import { MemoryIptables } from '../src/dataplane/iptables/memory-iptables.ts'
import type { Family } from '../src/net/ip.ts'
import { families } from '../src/net/ip.ts'
import { FileSource } from '../src/sources/file/file-source.ts'
import { Intake } from '../src/sources/intake.ts'
import { rulesetDifferences } from './testing/compare-rulesets.ts'
import { configPath, golden, objectPaths, scenarioNames } from './testing/golden-scenarios.ts'

const never = new AbortController().signal

/**
 * Jumps are put on top of FORWARD, so their order there tells which came last. The scenarios were recorded one after
 * the other, and only the first of them found no jump of an earlier one.
 */
const unorderedChains = new Set(['FORWARD', 'KUBE-IPVS-OUT-FILTER'])

async function render(scenario: string, part: string, family?: Family): Promise<string> {
  const catalog = new Catalog()
  const intake = new Intake({ catalog, log: silentLogger, metrics: silentMetrics })
  await new FileSource({ paths: objectPaths(scenario), intake, log: silentLogger, clock: systemClock }).load()
  const config = JSON.parse(readFileSync(configPath(scenario), 'utf8'))
  const nodeIps = { ipv4: '10.200.0.2', ipv6: '::1' }
  return (family === undefined ? families : [family])
    .map((family) => {
      const table = new RouteTable({
        catalog,
        family,
        nodeName: 'node1',
        nodeIP: nodeIps[family],
        allowExternalIPs: true,
        metrics: silentMetrics,
        startedAtMs: 0,
      })
      const plan = planIpvs(table.take({ full: true }).view, {
        family,
        scheduler: 'rr',
        localTraffic: localTraffic({
          mode: 'ClusterCIDR',
          clusterCIDRs: (config.clusterCIDR ?? '').split(','),
          podCIDRs: [],
          bridgeInterface: '',
          interfaceNamePrefix: '',
        })[family],
        masqueradeAll: config.iptables?.masqueradeAll ?? false,
        masqueradeMark: '0x00004000',
        hasRandomFully: true,
        ...nodeAddresses(['127.0.0.1', '::1', '10.200.0.2'], family, config.nodePortAddresses ?? []),
      })
      return renderPlan(plan).find((it) => it.part === part)?.text
    })
    .join('')
}

test.each(scenarioNames)('"%s" has the virtual servers that kube-proxy makes', async (scenario) => {
  expect(sorted(await render(scenario, 'ipvsadm'))).toEqual(sorted(golden(scenario, 'ipvsadm.txt')))
})

test.each(scenarioNames)('"%s" has the sets that kube-proxy makes', async (scenario) => {
  // The kernel's own choice, which ipset does not show everywhere.
  const theirs = golden(scenario, 'ipset-save.txt').replaceAll(' bucketsize 12', '')
  expect(sorted(await render(scenario, 'ipset'))).toEqual(sorted(theirs))
})

test.each(scenarioNames)('"%s" has the addresses that kube-proxy puts on its link', async (scenario) => {
  const theirs = sorted(golden(scenario, 'kube-ipvs0.txt')).map((address) => `address add ${address} dev kube-ipvs0`)
  expect(sorted(await render(scenario, 'addresses'))).toEqual(theirs)
})

const goldenRules: Readonly<Record<Family, string>> = {
  ipv4: 'ipvs-iptables-save.txt',
  ipv6: 'ipvs-ip6tables-save.txt',
}

for (const family of families)
  test.each(scenarioNames)(`"%s" has the rules that kube-proxy writes (${family})`, async (scenario) => {
    const iptables = new MemoryIptables({ family })
    await iptables.restore(await render(scenario, 'iptables', family), never)
    const saved: string[] = []
    for (const table of ['mangle', 'filter', 'nat'] as const) saved.push(await iptables.save(table, never))
    expect(rulesetDifferences(saved.join(''), golden(scenario, goldenRules[family]), unorderedChains)).toEqual([])
  })

function sorted(text: string): readonly string[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .sort()
}
