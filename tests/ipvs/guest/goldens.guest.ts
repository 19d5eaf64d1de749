/**
 * The kernel of a node that Fairlead programs, against what kube-proxy 1.36 left in such a kernel. The objects of one
 * scenario replace those of the one before while Fairlead runs, so each comparison also judges the change.
 */
import { readFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'
import { chooseVariant } from '../../packet/testing/iptables-variant.ts'
import { Namespace } from '../../packet/testing/namespace.ts'
import { NodeProcess } from '../../packet/testing/node-process.ts'
import { rulesetDifferences } from '../../testing/compare-rulesets.ts'
import { golden, objectPaths, scenarioNames } from '../../testing/golden-scenarios.ts'

/** A process serves those that have the same configuration. */
const groups = groupsOf(scenarioNames, (scenario) => golden(scenario, 'config.json'))

/** Where the order tells only which came first: see tests/golden-ipvs.test.ts. */
const unorderedChains = new Set(['FORWARD', 'KUBE-IPVS-OUT-FILTER'])

let node: Namespace
beforeAll(() => {
  node = Namespace.make()
  node.ip('link add eth0 type veth peer name far-end', 'address add 10.200.0.2/24 dev eth0', 'link set eth0 up')
  node.ip('link set far-end up')
  chooseVariant(node, 'legacy')
})
afterAll(() => node?.[Symbol.dispose]())

for (const scenarios of groups)
  describe(`with the configuration of "${scenarios[0]}"`, () => {
    let fairlead: RunningFairlead
    beforeAll(async () => {
      fairlead = await RunningFairlead.start(node, scenarios[0] ?? '')
    })
    afterAll(() => fairlead?.[Symbol.asyncDispose]())

    test.each(scenarios)('"%s" is in the kernel as kube-proxy left it', async (scenario) => {
      await fairlead.show(scenario)
      await expect.poll(() => differences(node, scenario), { timeout: 200_000, interval: 300 }).toEqual([])
    })
  })

class RunningFairlead implements AsyncDisposable {
  readonly #folder: TemporaryFolder
  readonly #process: NodeProcess

  private constructor(folder: TemporaryFolder, process: NodeProcess) {
    this.#folder = folder
    this.#process = process
  }

  /** With the configuration of this scenario. */
  static async start(on: Namespace, scenario: string): Promise<RunningFairlead> {
    const folder = await TemporaryFolder.make()
    const own = JSON.parse(golden(scenario, 'config.json')) as object
    const config = await folder.write('config.json', JSON.stringify({ ...own, mode: 'ipvs' }))
    const objects = `${folder.path}/objects.json`
    await folder.write('objects.json', JSON.stringify(objectsOf(scenario)))
    const args = ['bin/fairlead.js', `--config=${config}`, `--objects=${objects}`]
    return new RunningFairlead(folder, new NodeProcess(on, process.execPath, args))
  }

  async show(scenario: string): Promise<void> {
    const aside = await this.#folder.write('aside', JSON.stringify(objectsOf(scenario)))
    await rename(aside, `${this.#folder.path}/objects.json`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]()
    await this.#folder[Symbol.asyncDispose]()
  }
}

function objectsOf(scenario: string): object {
  const lists = objectPaths(scenario).map((path) => JSON.parse(readFileSync(path, 'utf8')) as { items: object[] })
  return { apiVersion: 'v1', kind: 'List', items: lists.flatMap(({ items }) => items) }
}

const mark = '=== next'

/** All in one process of Node's: to start one is what takes time here. */
const dump = [
  'ipvsadm -Sn',
  'ipset save',
  "ip -o address show dev kube-ipvs0 | awk '{print $4}'",
  'iptables-legacy-save',
  'ip6tables-legacy-save',
].join(`; echo '${mark}'; `)

function differences(on: Namespace, scenario: string): readonly string[] {
  const [servers = '', sets = '', addresses = '', rules = '', rules6 = ''] = on.run('sh', ['-c', dump]).split(mark)
  return [
    ...lineDifferences(servers, golden(scenario, 'ipvsadm.txt')),
    ...lineDifferences(sets.replace(/ initval \w+/g, ''), golden(scenario, 'ipset-save.txt')),
    ...lineDifferences(addresses, golden(scenario, 'kube-ipvs0.txt')),
    ...ruleDifferences(rules, golden(scenario, 'ipvs-iptables-save.txt')),
    ...ruleDifferences(rules6, golden(scenario, 'ipvs-ip6tables-save.txt')),
  ]
}

function lineDifferences(actual: string, expected: string): readonly string[] {
  const [ours, theirs] = [linesOf(actual), linesOf(expected)]
  return [
    ...[...theirs].filter((line) => !ours.has(line)).map((line) => `- ${line}`),
    ...[...ours].filter((line) => !theirs.has(line)).map((line) => `+ ${line}`),
  ]
}

function linesOf(text: string): ReadonlySet<string> {
  return new Set(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  )
}

function ruleDifferences(actual: string, expected: string): readonly string[] {
  // kubelet's hint is not the proxy's.
  const ours = actual.replace(/^:KUBE-IPTABLES-HINT.*\n/gm, '')
  return rulesetDifferences(ours, expected, unorderedChains)
}

function groupsOf<T>(all: readonly T[], keyOf: (one: T) => string): Iterable<readonly T[]> {
  const byKey = new Map<string, T[]>()
  for (const one of all) {
    const group = byKey.get(keyOf(one))
    if (group === undefined) byKey.set(keyOf(one), [one])
    else group.push(one)
  }
  return byKey.values()
}
