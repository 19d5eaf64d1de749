/**
 * What each mode needs of the kernel's privileges: it works with exactly these, and says which one is missing when it
 * has one fewer. The table of docs/security.md is this one.
 */
import { readFileSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { manifest, service, slice } from '../e2e/testing/objects.ts'
import { ask } from './testing/ask.ts'
import { Cluster } from './testing/cluster.ts'
import { listenTcp } from './testing/echo-server.ts'
import { FairleadProcess, fairleadIptables, fairleadNftables, fairleadProgram } from './testing/fairlead.ts'
import { fairleadUserspace } from './testing/fairlead-userspace.ts'
import { chooseVariant } from './testing/iptables-variant.ts'
import { capabilityBits, limitedTo } from './testing/limited-to.ts'
import type { Capability } from './testing/limited-to.ts'
import { Namespace } from './testing/namespace.ts'
import { NodeProcess } from './testing/node-process.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import type { Proxy } from './testing/proxy.ts'
import { proxyFlags } from './testing/proxy-flags.ts'
import { Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import { clusterObjects, givenService, objectsOf } from './testing/service-fixture.ts'
import { flowsTo } from './testing/service-faults.ts'
import { whoAnswers } from './testing/tally.ts'

interface Case {
  readonly proxy: Proxy
  readonly variant: 'nft' | 'legacy'
  readonly needs: readonly Capability[]
}

const cases: readonly Case[] = [
  { proxy: fairleadNftables, variant: 'nft', needs: ['NET_ADMIN'] },
  { proxy: fairleadIptables('nft'), variant: 'nft', needs: ['NET_ADMIN'] },
  { proxy: fairleadIptables('legacy'), variant: 'legacy', needs: ['NET_ADMIN', 'NET_RAW'] },
  { proxy: fairleadUserspace('nft'), variant: 'nft', needs: ['NET_ADMIN'] },
  { proxy: fairleadUserspace('legacy'), variant: 'legacy', needs: ['NET_ADMIN', 'NET_RAW'] },
]

const web = givenService('web', 1, { type: 'NodePort', endpoints: ['here-1'] })
/** What such a Service asks for needs more of the kernel than others. */
const hashed = givenService('hashed', 2, {
  endpoints: ['here-1', 'here-2'],
  annotations: { 'fairlead.dev/algorithm': 'source-hash' },
})
const patience = { timeout: 60_000, interval: 50 }

for (const { proxy, variant, needs } of cases)
  describeUnless(packetTestProblem(proxy), `${proxy.name}, ${needs.join(' and ')}`, () => {
    let rig: Rig
    beforeAll(async () => {
      rig = await Rig.startWith((cluster) => start(cluster, { proxy, variant, needs }), [web, hashed])
    }, 120_000)
    afterAll(() => rig?.[Symbol.asyncDispose]())

    test('is enough: packets flow', async () => {
      const { pid } = rig.proxy as FairleadProcess
      const expected = needs.reduce((set, name) => set | (1 << capabilityBits[name]), 0)
      expect(statusOf(pid)).toMatchObject({ effective: expected, bounds: expected, noNewPrivileges: 1 })
      for (const { from, to, family } of flowsTo(web))
        expect(await whoAnswers(rig, from, to, family)).toBe('here-1:8080')
      const answers = new Set<string>()
      for (let time = 0; time < 20; time++)
        answers.add(await whoAnswers(rig, 'caller', at('cluster IP', hashed), 'ipv4'))
      expect(answers.size).toBe(1)
    })

    test('is enough to clean up', async () => {
      await rig.proxy.stop('SIGKILL')
      cleanUpWith(rig.cluster, needs)
      const outcome = await rig.ask('caller', at('cluster IP', web), 'ipv4', 10_000)
      expect(outcome).toMatchObject({ kind: 'answer', answer: { answeredBy: 'beyond' } })
    })

    test.each(needs)('without CAP_%s it says so and ends', async (missing) => {
      using cluster = new Cluster()
      const rest = needs.filter((name) => name !== missing)
      await using process = await start(cluster, { proxy, variant, needs: rest })
      await process.apply([...clusterObjects, ...objectsOf(web)])
      await expect.poll(() => process.log(), patience).toMatch(new RegExp(`"command failed".*CAP_${missing}`))
      expect(() => cleanUpWith(cluster, rest)).toThrow(`CAP_${missing}`)
    })
  })

describeUnless(packetTestProblem(fairleadUserspace('nft')), 'transparent connections of the userspace mode', () => {
  const annotations = { 'fairlead.dev/client-address': 'transparent' }
  const wishing = givenService('web', 1, { type: 'NodePort', endpoints: ['here-1'], annotations })
  const proxy = fairleadUserspace('nft')

  test.each([
    { needs: ['NET_ADMIN', 'NET_RAW'] as const, seen: 'client' as const },
    { needs: ['NET_ADMIN'] as const, seen: 'node' as const },
  ])('with $needs, pods see the $seen', async ({ needs, seen }) => {
    await using rig = await Rig.startWith((cluster) => start(cluster, { proxy, variant: 'nft', needs }), [wishing])
    const to = at('node port', wishing)
    const sources = { client: rig.whoIs('outside', to, 'ipv4').ip, node: rig.whoIs('node', to, 'ipv4').ip }
    await expect
      .poll(() => rig.ask('outside', to, 'ipv4', 10_000), patience)
      .toMatchObject({ kind: 'answer', answer: { sawSource: sources[seen] } })
    expect(rig.proxy.log().includes('CAP_NET_RAW')).toBe(seen === 'node')
  })
})

describeUnless(packetTestProblem(fairleadNftables), 'nobody, without any capability', () => {
  const nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', ...limitedTo([]).slice(1)]

  test('is enough for the userspace mode on loopback', async () => {
    using machine = Namespace.make()
    machine.ip('address add 10.64.0.1/32 dev lo')
    using _pod = listenTcp(machine, 'pod', 8080)
    await using folder = await objectsForAll(
      manifest(service('web', 8081, { clusterIP: '10.96.0.10' }), slice('web', 8080, { addresses: ['10.64.0.1'] })),
    )
    const flags = ['--proxy-mode=userspace', '--bind-address=127.0.0.1', `--objects=${folder.path}`]
    await using process = started(machine, [...flags, '--hostname-override=node1', '--oom-score-adj=0'])
    await expect
      .poll(() => ask(machine, { transport: 'tcp', ip: '127.0.0.1', port: 8081, patienceMs: 1000 }), patience)
      .toMatchObject({ kind: 'answer', answer: { answeredBy: 'pod' } })
    expect(statusOf(process.pid)).toMatchObject({ effective: 0, bounds: 0, noNewPrivileges: 1 })
  })

  test('is enough for a core that serves backends elsewhere', async () => {
    using machine = Namespace.make()
    await using folder = await objectsForAll(manifest(service('web', 80, { clusterIP: '10.96.0.10' })))
    await using process = started(machine, [
      'file',
      'to-api',
      `--input=${folder.path}`,
      '--listen=tcp://127.0.0.1:12090',
    ])
    await expect
      .poll(() => ask(machine, { transport: 'tcp', ip: '127.0.0.1', port: 12_090, patienceMs: 200 }), patience)
      .toMatchObject({ kind: 'silence' })
    expect(statusOf(process.pid)).toMatchObject({ effective: 0, bounds: 0, noNewPrivileges: 1 })
  })

  function started(machine: Namespace, args: readonly string[]): NodeProcess {
    const [first = '', ...rest] = nobody
    return new NodeProcess(machine, first, [...rest, process.execPath, fairleadProgram, ...args])
  }

  async function objectsForAll(text: string): Promise<TemporaryFolder> {
    const folder = await TemporaryFolder.make()
    await folder.write('objects.yaml', text, 0o644)
    await chmod(folder.path, 0o755)
    return folder
  }
})

/** Root of a container that has these capabilities and no other. */
async function start(cluster: Cluster, { proxy, variant, needs }: Case): Promise<FairleadProcess> {
  if (proxy !== fairleadNftables) chooseVariant(cluster.node, variant)
  const flags = [...proxyFlags(proxy.mode, {}), '-v=2']
  return new FairleadProcess(cluster, flags, await TemporaryFolder.make(), {}, limitedTo(needs))
}

/** Throws when it fails, with what it printed. */
function cleanUpWith({ node }: Cluster, capabilities: readonly Capability[]): void {
  const [first = '', ...rest] = limitedTo(capabilities)
  node.run(first, [...rest, process.execPath, fairleadProgram, '--cleanup'])
}

function statusOf(pid: number) {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8')
  const field = (name: string) => Number.parseInt(new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(text)?.[1] ?? '', 16)
  return { effective: field('CapEff'), bounds: field('CapBnd'), noNewPrivileges: field('NoNewPrivs') }
}
