/** `fairlead render --proxy-mode=ipvs` against what kube-proxy 1.36 programmed, in all recorded scenarios. */
import { expect, test } from 'vitest'
import { thisHost } from '../src/cli/host/this-host.ts'
import { unwatched } from '../src/cli/program.ts'
import type { Program } from '../src/cli/program.ts'
import { renderCommand } from '../src/cli/render-command.ts'
import { MemoryIptables } from '../src/dataplane/iptables/memory-iptables.ts'
import type { Family } from '../src/net/ip.ts'
import { families } from '../src/net/ip.ts'
import { rulesetDifferences } from './testing/compare-rulesets.ts'
import { configPath, golden, objectPaths, scenarioNames } from './testing/golden-scenarios.ts'

const never = new AbortController().signal

/**
 * Jumps are put on top of FORWARD, so their order there tells which came last. The scenarios were recorded one after
 * the other, and only the first of them found no jump of an earlier one.
 */
const unorderedChains = new Set(['FORWARD', 'KUBE-IPVS-OUT-FILTER'])

async function render(scenario: string, part: string, family?: Family): Promise<string> {
  let printed = ''
  const program: Program = {
    ...unwatched,
    host: { ...thisHost(), platform: 'linux', env: {} },
    out: (text) => void (printed += text),
    err: (text) => expect(text).toMatch(/^note: /),
  }
  const objects = objectPaths(scenario).map((path) => `--objects=${path}`)
  const flags = ['--proxy-mode=ipvs', `--part=${part}`, `--config=${configPath(scenario)}`, '--node-name=node1']
  const ofFamily = family === undefined ? [] : [`--family=${family}`]
  expect(await renderCommand([...flags, ...ofFamily, ...objects], program)).toBe(0)
  // A comment tells the families apart; kube-proxy's files have none.
  return printed.replaceAll(/^# ipv.*\n/gm, '')
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
