/** `fairlead render --proxy-mode=iptables` against what kube-proxy 1.36 programmed, in all recorded scenarios. */
import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
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
const goldenFile: Readonly<Record<Family, string>> = { ipv4: 'iptables-save.txt', ipv6: 'ip6tables-save.txt' }
const cases = scenarioNames.flatMap((scenario) => families.map((family) => ({ scenario, family })))

async function render(scenario: string, family: Family): Promise<string> {
  let printed = ''
  const program: Program = {
    ...unwatched,
    host: { ...thisHost(), platform: 'linux', env: {} },
    out: (text) => void (printed += text),
    err: (text) => expect(text).toMatch(/^note: /),
  }
  const objects = objectPaths(scenario).map((path) => `--objects=${path}`)
  const flags = ['--proxy-mode=iptables', `--config=${configPath(scenario)}`, '--node-name=node1', `--family=${family}`]
  expect(await renderCommand([...flags, ...objects], program)).toBe(0)
  return printed
}

describe('the plan', () => {
  test.each(cases)('programs "$scenario" as kube-proxy does ($family)', async ({ scenario, family }) => {
    const iptables = new MemoryIptables({ family })
    await iptables.restore(await render(scenario, family), never)
    const saved = []
    for (const table of ['mangle', 'filter', 'nat'] as const) saved.push(await iptables.save(table, never))
    expect(rulesetDifferences(saved.join(''), golden(scenario, goldenFile[family]))).toEqual([])
  })
})

const variants = ['nft', 'legacy'] as const

/** Why the real tools cannot be used here; undefined when they can. */
function obstacle(variant: (typeof variants)[number]): string | undefined {
  try {
    execFileSync(
      'unshare',
      ['-n', 'sh', '-c', `iptables-${variant}-save && ip6tables-${variant}-save && nfacct list`],
      { stdio: 'pipe' },
    )
    return undefined
  } catch (error) {
    return `needs root, unshare, iptables-${variant} and nfacct: ${String(error).split('\n')[0]}`
  }
}

for (const variant of variants) {
  const why = obstacle(variant)
  const note = why === undefined ? '' : ` (skipped: ${why})`
  describe.skipIf(why !== undefined)(`the kernel, through iptables-${variant}${note}`, () => {
    test.each(cases)('holds "$scenario" as kube-proxy left it ($family)', async ({ scenario, family }) => {
      const tool = `${family === 'ipv4' ? 'iptables' : 'ip6tables'}-${variant}`
      // The rules name two kernel counters, which a proxy makes first.
      const counters = 'nfacct add ct_state_invalid_dropped_pkts && nfacct add localhost_nps_accepted_pkts'
      const script = `${counters} && ${tool}-restore && ${tool}-save`
      const input = await render(scenario, family)
      const saved = execFileSync('unshare', ['-n', 'sh', '-c', script], { input, encoding: 'utf8', stdio: 'pipe' })
      expect(rulesetDifferences(saved, golden(scenario, goldenFile[family]))).toEqual([])
    })
  })
}
