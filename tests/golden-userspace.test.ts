/**
 * The portals against what kube-proxy 1.25, the last to have them, programmed. Three things are made equal first:
 *
 * - proxy ports, which are random, become the name of the Service port they are for;
 * - Fairlead's two own chains, and the jumps to them, are left out: kube-proxy left to the proxy itself what they refuse;
 * - the order between Services in a chain does not count.
 */
import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { portalChains } from '../src/backends/userspace/portals/chains.ts'
import { renderPortals } from '../src/backends/userspace/portals/render.ts'
import type { PortalSettings } from '../src/backends/userspace/portals/settings.ts'
import { thisHost } from '../src/cli/host/this-host.ts'
import { unwatched } from '../src/cli/program.ts'
import type { Program } from '../src/cli/program.ts'
import { renderCommand } from '../src/cli/render-command.ts'
import type { Table } from '../src/dataplane/iptables/iptables.ts'
import { MemoryIptables } from '../src/dataplane/iptables/memory-iptables.ts'
import type { Family } from '../src/net/ip.ts'
import { families } from '../src/net/ip.ts'
import { rulesetDifferences } from './testing/compare-rulesets.ts'
import { configPath, golden, hasGolden, objectPaths, scenarioNames } from './testing/golden-scenarios.ts'
import { scenarioView } from './testing/scenario-view.ts'

const never = new AbortController().signal
const goldenFile = 'userspace-iptables-save.txt'
const recorded = scenarioNames.filter((scenario) => hasGolden(scenario, goldenFile))
const cases = scenarioNames.flatMap((scenario) => families.map((family) => ({ scenario, family })))
const ownChains: readonly string[] = [portalChains.ports, portalChains.firewall]
const unorderedChains = new Set<string>(Object.values(portalChains))

/** kube-proxy listened on all addresses. */
const asRecorded: PortalSettings = {
  family: 'ipv4',
  localTraffic: { kind: 'cidr', cidr: '10.64.0.0/10' },
  masqueradeAll: false,
  keepsClients: true,
  listenIp: '0.0.0.0',
  hostIp: '10.200.0.2',
  nodePortIps: ['0.0.0.0'],
}

test('there are recorded scenarios', () => {
  expect(recorded.length).toBeGreaterThan(7)
})

test.each(recorded)('"%s" has the portals that kube-proxy makes', async (scenario) => {
  const { rules } = renderPortals(await scenarioView(scenario, 'ipv4'), asRecorded)
  const ours = comparable(await saved(rules, 'ipv4'))
  expect(rulesetDifferences(ours, comparable(golden(scenario, goldenFile)), unorderedChains)).toEqual([])
})

test.each(recorded)('"%s" is rendered with portals that lead to the address of the node', async (scenario) => {
  const ours = comparable(await saved(await render(scenario, 'ipv4'), 'ipv4'))
  const theirs = comparable(golden(scenario, goldenFile))
  const led = theirs.replace(/-j REDIRECT --to-ports (.*)$/gm, '-j DNAT --to-destination 10.200.0.2:$1')
  expect(rulesetDifferences(ours, led, unorderedChains)).toEqual([])
})

for (const variant of ['nft', 'legacy'] as const) {
  const why = obstacle(variant)
  const note = why === undefined ? '' : ` (skipped: ${why})`
  describe.skipIf(why !== undefined)(`the kernel, through iptables-${variant}${note}`, () => {
    test.each(cases)('takes the portals of "$scenario" as they are planned ($family)', async ({ scenario, family }) => {
      const tool = `${family === 'ipv4' ? 'iptables' : 'ip6tables'}-${variant}`
      const input = await render(scenario, family)
      const script = `${tool}-restore && ${tool}-save`
      const held = execFileSync('unshare', ['-n', 'sh', '-c', script], { input, encoding: 'utf8', stdio: 'pipe' })
      expect(rulesetDifferences(held, await saved(input, family, tablesOf(input)), new Set())).toEqual([])
    })
  })
}

async function render(scenario: string, family: Family): Promise<string> {
  let printed = ''
  const program: Program = {
    ...unwatched,
    host: { ...thisHost(), platform: 'linux', env: {} },
    out: (text) => void (printed += text),
    err: (text) => expect(text).toMatch(/^note: /),
  }
  const objects = objectPaths(scenario).map((path) => `--objects=${path}`)
  const flags = [
    '--proxy-mode=userspace',
    `--config=${configPath(scenario)}`,
    '--node-name=node1',
    `--family=${family}`,
  ]
  expect(await renderCommand([...flags, ...objects], program)).toBe(0)
  return printed
}

/** What iptables-save would print. kube-proxy has nothing in other tables. */
async function saved(input: string, family: Family, tables: readonly Table[] = ['filter', 'nat']): Promise<string> {
  const iptables = new MemoryIptables({ family })
  await iptables.restore(input, never)
  const texts: string[] = []
  for (const table of tables) texts.push(await iptables.save(table, never))
  return texts.join('')
}

/** The kernel has a table once somebody used it. */
function tablesOf(input: string): readonly Table[] {
  return (['mangle', 'filter', 'nat'] as const).filter((table) => input.includes(`*${table}\n`))
}

function comparable(text: string): string {
  const kept = text.split('\n').filter((line) => !ownChains.some((chain) => line.includes(chain)))
  const namesByPort = new Map<string, string>()
  const led = /--comment "([^"]+)".* -j (?:REDIRECT --to-ports |DNAT --to-destination \S+:)(\d+)$/
  for (const line of kept) {
    const [, name = '', port = ''] = led.exec(line) ?? []
    if (port !== '') namesByPort.set(port, name)
  }
  const named = (port: string) => `<port of ${namesByPort.get(port) ?? 'nobody'}>`
  return kept
    .map((line) =>
      line.startsWith(`-A ${portalChains.nodePortNonLocal} `)
        ? line.replace(/(?<=--dport )\d+/, named)
        : line.replace(/(?<=--to-ports |--to-destination \S+:)\d+$/, named),
    )
    .join('\n')
}

/** Why the real tools cannot be used here; undefined when they can. */
function obstacle(variant: 'nft' | 'legacy'): string | undefined {
  try {
    const script = `iptables-${variant}-save && ip6tables-${variant}-save`
    execFileSync('unshare', ['-n', 'sh', '-c', script], { stdio: 'pipe' })
    return undefined
  } catch (error) {
    return `needs root, unshare and iptables-${variant}: ${String(error).split('\n')[0]}`
  }
}
