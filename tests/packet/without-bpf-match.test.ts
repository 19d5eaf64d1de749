/** The iptables mode on a node whose kernel has no match "bpf", as the tools tell it. */
import { spawnSync } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import { families } from '../../src/net/ip.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { Cluster } from './testing/cluster.ts'
import { FairleadProcess, fairleadIptables } from './testing/fairlead.ts'
import { fetchFrom } from './testing/fetch-from.ts'
import { chooseVariant } from './testing/iptables-variant.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import { proxyFlags } from './testing/proxy-flags.ts'
import { Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import { clusterObjects, givenService, objectsOf } from './testing/service-fixture.ts'
import { tallyAnswers } from './testing/tally.ts'

const hashed = givenService('hashed', 1, {
  endpoints: ['here-1', 'here-2'],
  annotations: { 'fairlead.dev/algorithm': 'source-hash' },
})
const patience = { timeout: 60_000, interval: 50 }

describeUnless(packetTestProblem(fairleadIptables('nft')), 'iptables (nft) without the match "bpf"', () => {
  test('a Service that asks for source-hash works as without, and is told', async () => {
    await using rig = await Rig.startWith((cluster) => start(cluster), [hashed])
    for (const family of families) {
      // By chance, one of two is never met once in a billion times.
      const counts = await tallyAnswers(rig, 'caller', at('cluster IP', hashed), family, 30)
      expect([...counts.keys()].sort()).toEqual(['here-1:8080', 'here-2:8080'])
    }
    expect(rig.proxy.log()).toContain('has no match \\"bpf\\"; add the kernel module xt_bpf and restart')
    const metrics = () => fetchFrom(rig.cluster.node, '127.0.0.1', 10_249, '/metrics')
    // A busy machine may need a second try.
    await expect.poll(metrics, patience).toMatchObject({
      body: expect.stringContaining('fairlead_service_notices{ip_family="IPv4",reason="UnsupportedAnnotation"} 1'),
    })
  })

  test('with --algorithm=source-hash it says what is missing, and ends', async () => {
    using cluster = new Cluster()
    await using fairlead = await start(cluster, '--algorithm=source-hash')
    await fairlead.apply([...clusterObjects, ...objectsOf(hashed)])
    await expect.poll(() => fairlead.log(), patience).toMatch(/"command failed".*--algorithm=source-hash: .*xt_bpf/)
  })
})

async function start(cluster: Cluster, ...flags: readonly string[]): Promise<FairleadProcess> {
  const tools = await TemporaryFolder.make()
  onTestFinished(() => tools[Symbol.asyncDispose]())
  for (const name of ['iptables-nft', 'ip6tables-nft']) {
    const real = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim()
    const warning = 'Warning: Extension bpf revision 0 not supported, missing kernel module?'
    const script = `#!/bin/sh\ncase "$*" in *"-m bpf"*) echo "${warning}" >&2; exit;; esac\nexec ${real} "$@"\n`
    await tools.write(name, script, 0o755)
  }
  chooseVariant(cluster.node, 'nft')
  const env = { PATH: `${tools.path}:${process.env['PATH']}` }
  return new FairleadProcess(cluster, [...proxyFlags('iptables', {}), ...flags], await TemporaryFolder.make(), env)
}
