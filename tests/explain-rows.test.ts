/**
 * Every row of the packet tests, which say what real packets do in each mode, as a question: an explanation must say the
 * same. It takes milliseconds and no privileges; whether the rows are true is shown by tests/packet and tests/ipvs.
 */
import { describe, expect, test } from 'vitest'
import type { EbpfOptions } from '../src/config/daemon/ebpf-flags.ts'
import { parseDaemonCommandLine } from '../src/config/daemon/parse-daemon-command-line.ts'
import { loadConfig } from '../src/cli/daemon/load-config.ts'
import type { ProxyConfig } from '../src/config/proxy-config.ts'
import { parseObject } from '../src/api/parse.ts'
import { objectKinds } from '../src/api/records.ts'
import type { ObjectKind, ObjectRecord } from '../src/api/records.ts'
import { explainWorld } from '../src/cli/explain/explain-world.ts'
import { findMode } from '../src/cli/modes/find-mode.ts'
import { objectsOnNode } from '../src/cli/offline/objects-on-node.ts'
import { Catalog } from '../src/core/catalog.ts'
import { explain } from '../src/core/explain/explain.ts'
import type { Explanation } from '../src/core/explain/explanation.ts'
import type { World } from '../src/core/explain/world.ts'
import { silentNotices } from '../src/core/routing/service-notices.ts'
import { families } from '../src/net/ip.ts'
import type { Family } from '../src/net/ip.ts'
import { plans } from './packet/testing/address-plan.ts'
import { proxyFlags } from './packet/testing/proxy-flags.ts'
import type { ProxyMode } from './packet/testing/proxy.ts'
import { addressOf } from './packet/testing/rig.ts'
import type { Expectation, Row, Scenario, Source, Target } from './packet/testing/row.ts'
import { scenarios } from './packet/testing/scenarios.ts'
import { clusterObjects, nodeName, objectsOf } from './packet/testing/service-fixture.ts'
import { ebpfScenarios } from './packet/rows/ebpf.ts'
import { userspaceScenarios } from './packet/rows/userspace.ts'

const scenariosByMode: Readonly<Record<ProxyMode, readonly Scenario[]>> = {
  nftables: scenarios,
  ebpf: ebpfScenarios().map((scenario) => ({
    ...scenario,
    rows: scenario.rows.map((row) => ({ ...row, modes: ['ebpf'] })),
  })),
  iptables: scenarios,
  ipvs: scenarios,
  userspace: userspaceScenarios().map((scenario) => ({ ...scenario, rows: scenario.rows.map(inUserspace) })),
}

/** The rows of the userspace mode are made from those of iptables. */
function inUserspace(row: Row): Row {
  return { ...row, modes: ['userspace'] }
}

for (const [mode, scenariosOfMode] of Object.entries(scenariosByMode) as [ProxyMode, readonly Scenario[]][])
  describe(`the ${mode} mode`, () => {
    for (const scenario of scenariosOfMode) {
      const rows = scenario.rows.filter(({ modes }) => modes.includes(mode))
      if (rows.length === 0) continue
      test(`with ${scenario.name}: explains ${rows.length} rows as the packets go`, async () => {
        const world = await worldOf(mode, scenario)
        const [expected, explained] = [[], []] as [string[], string[]]
        for (const row of rows)
          for (const family of row.families)
            for (const from of row.from)
              for (const to of row.to) {
                const name = `${family}: ${from} → ${to.service.name} ${to.door} (${to.port.protocol} ${to.port.name})`
                expected.push(`${name}: ${wordsOf(row.expect, to, family)}`)
                explained.push(`${name}: ${answerWords(ask(from, to, family, world), mode)}`)
              }
        expect(explained).toEqual(expected)
      })
    }
  })

function ask(from: Source, to: Target, family: Family, world: World): Explanation {
  const { ip, port } = addressOf(to, family)
  const { protocol } = to.port
  const target = { kind: 'address', ip, port: protocol === 'ICMP' ? 0 : port, protocol } as const
  const answer = explain({ target, from: { kind: 'ip', ip: addressOfSource(from, to, family) } }, world)
  if (!answer.ok) throw new Error(answer.message)
  const [explanation] = answer.explanations
  if (explanation === undefined || answer.explanations.length !== 1) throw new Error('one explanation was expected')
  return explanation
}

function addressOfSource(from: Source, { service }: Target, family: Family): string {
  const plan = plans[family]
  if (from === 'node') return plan.nodeIP
  if (from === 'localhost') return plan.loopback
  return from === 'vip' ? plan.secondVip(service.index) : plan.hosts[from]
}

function wordsOf(expectation: Expectation, to: Target, family: Family): string {
  switch (expectation.kind) {
    case 'reaches':
      return expectation.each
        .map(
          ({ pod, seenAs }) =>
            `${family === 'ipv6' ? `[${plans.ipv6.hosts[pod]}]` : plans.ipv4.hosts[pod]}:${to.port.target} sees the ${seenAs}`,
        )
        .sort()
        .join(', ')
    case 'refused':
      return 'refused at once'
    case 'dropped':
      return 'timeout'
    case 'untouched':
      return 'untouched'
    default:
      return expectation satisfies never
  }
}

function answerWords({ verdict, clientSees, answerers }: Explanation, mode: ProxyMode): string {
  // Fairlead listens on node ports in this mode; where it does not, nobody can, and the kernel refuses.
  if (mode === 'userspace' && verdict.kind === 'untouched' && verdict.because === 'not open here')
    return 'refused at once'
  if (verdict.kind === 'untouched') return 'untouched'
  if (verdict.kind !== 'forward') return clientSees
  return answerers
    .map(({ address, sourceSeen }) => `${address} sees the ${sourceSeen}`)
    .sort()
    .join(', ')
}

async function worldOf(modeName: ProxyMode, { settings, services, rows }: Scenario): Promise<World> {
  const { config, ebpf } = await configOf(modeName, settings)
  const mode = await findMode(modeName, 'linux')
  const catalog = new Catalog()
  // By its interface a pod is known to the kernel; here by the range that its node gives addresses from.
  const isAsked = settings.detectLocal === 'interface prefix' || modeName === 'userspace' || modeName === 'ebpf'
  const podCIDRs = isAsked ? families.map((family) => plans[family].localPodRange) : []
  const records = [...clusterObjects, ...services.flatMap(objectsOf)]
    .flatMap(recordOf)
    .map((record) => (record.kind === 'Node' ? { ...record, podCIDRs } : record))
  for (const kind of objectKinds)
    catalog.replace(
      kind,
      records.filter((it) => it.kind === kind),
    )
  const second = families.flatMap((family) => [plans[family].secondNodeIP, plans[family].idleNodeIP])
  const vipsOnNode = services
    .filter(({ vips }) => vips === 'two')
    .flatMap(({ index }) => families.map((family) => plans[family].secondVip(index)))
  const own = families.map((family) => plans[family].nodeIP)
  const request = {
    mode,
    config,
    nodeName,
    nodeAddresses: own,
    hnsNetworkType: 'auto',
    ebpf,
  } as const
  const node = objectsOnNode(catalog, request, silentNotices)
  const localIps = () => [...node.settings.localIps(), ...second, ...(rows.length > 0 ? vipsOnNode : [])]
  return explainWorld({
    catalog,
    traits: () => mode.traits(config, ebpf),
    settings: { ...node.settings, localIps },
    tables: families.map((family) => ({ family, table: node.routes(family) })),
  })
}

function recordOf(object: { readonly kind: string }): readonly ObjectRecord[] {
  const kind = objectKinds.find((known) => known === object.kind)
  if (kind === undefined) return []
  const parsed = parseObject<ObjectKind>(kind, object)
  return parsed.ok ? [parsed.record] : []
}

async function configOf(
  mode: ProxyMode,
  settings: Scenario['settings'],
): Promise<{ readonly config: ProxyConfig; readonly ebpf: EbpfOptions }> {
  const parsed = parseDaemonCommandLine(proxyFlags(mode, settings), 'linux')
  if (parsed.kind !== 'run') throw new Error('the flags of the test are not good')
  const noFile = {
    platform: 'linux',
    findFile: (path: string) => path,
    readTextFile: () => Promise.reject(new Error('none')),
  } as const
  const { config } = await loadConfig(parsed.options, noFile, undefined)
  return { config, ebpf: parsed.options.ebpf }
}
