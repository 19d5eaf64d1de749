/**
 * The containers of deploy/manifests, with the rights that they have there: the privileged one makes the settings, and
 * then the proxy starts without being able to.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { manifestsFolder } from '../../tools/deploy/places.ts'
import { configOf, containersOf, hasKubectl, manifestsIn } from '../testing/manifests.ts'
import type { Container } from '../testing/manifests.ts'
import { ask } from './testing/ask.ts'
import { Cluster } from './testing/cluster.ts'
import { containerOf } from './testing/container.ts'
import { EbpfPlace, fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { fairleadIptables, fairleadNftables, fairleadProgram } from './testing/fairlead.ts'
import { fairleadUserspace } from './testing/fairlead-userspace.ts'
import { chooseVariant } from './testing/iptables-variant.ts'
import { NodeProcess } from './testing/node-process.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import { addressOf } from './testing/rig.ts'
import { at } from './testing/row.ts'
import { clusterObjects, givenService, nodeName, objectsOf } from './testing/service-fixture.ts'

const web = givenService('web', 1, { type: 'NodePort', endpoints: ['here-1'] })
const patience = { timeout: 60_000, interval: 100 }

for (const proxy of [fairleadNftables, fairleadIptables('legacy'), fairleadUserspace('legacy'), fairleadEbpf])
  describeUnless(
    packetTestProblem(proxy) ?? (hasKubectl ? undefined : 'there is no kubectl'),
    `pods of deploy/manifests/${proxy.mode}`,
    () => {
      let cluster: Cluster
      let folder: TemporaryFolder
      let containers: readonly Container[]
      let place: EbpfPlace | undefined
      beforeAll(async () => {
        cluster = new Cluster()
        if (proxy.mode === 'iptables' || proxy.mode === 'userspace') chooseVariant(cluster.node, 'legacy')
        if (proxy === fairleadEbpf) {
          place = new EbpfPlace()
          cluster.useCgroup(place.cgroup)
        }
        folder = await TemporaryFolder.make()
        const manifests = manifestsIn(join(manifestsFolder, proxy.mode))
        containers = containersOf(manifests)
        // Only the machine's own namespace may change the size of the table, and the kubelet gives pods their OOM score.
        const here = { conntrack: { maxPerCore: 0 }, oomScoreAdj: 0 }
        const config = { ...(parse(configOf(manifests)) as object), ...here }
        await folder.write('config.yaml', stringify(config))
        const items = [...clusterObjects, ...objectsOf(web)]
        await folder.write('objects.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
      })
      afterAll(async () => {
        cluster[Symbol.dispose]()
        await folder[Symbol.asyncDispose]()
        await place?.[Symbol.asyncDispose]()
      })

      test('without the settings, the doctor names what is missing', async () => {
        const { exitCode, output } = await run('doctor', /\d+ checks/)
        expect(output).toContain('settings-read-only')
        // In userspace mode it only tells: the proxy before still has the ports then, which is an error, too.
        expect(exitCode).toBe(proxy.mode === 'userspace' ? 0 : 1)
      })

      test('the privileged container makes the settings, and ends', async () => {
        expect(await run('kernel-settings', /starting Fairlead/)).toMatchObject({ exitCode: 0 })
      })

      test('then the doctor has nothing against it', async () => {
        const { exitCode, output } = await run('doctor', /\d+ checks/)
        expect(output).not.toContain('Errors')
        expect(exitCode).toBe(0)
      })

      test('and the proxy programs the node, without a right to write anywhere else', async () => {
        await using process = start('fairlead')
        const question = { transport: 'tcp' as const, ...addressOf(at('cluster IP', web), 'ipv4'), patienceMs: 500 }
        await expect
          .poll(() => ask(cluster.host('caller'), question), patience)
          .toMatchObject({ kind: 'answer', answer: { answeredBy: 'here-1' } })
        expect(process.output).not.toMatch(/EROFS|read-only|EACCES/)
      })

      async function run(
        name: string,
        lastWords: RegExp,
      ): Promise<{ readonly exitCode: number | null; readonly output: string }> {
        await using process = start(name)
        const exitCode = await process.ended()
        // What it has printed may arrive after its end.
        await expect.poll(() => process.output, patience).toMatch(lastWords)
        return { exitCode, output: process.output }
      }

      function start(name: string): NodeProcess {
        const container = containers.find((one) => one.name === name)
        if (container === undefined) throw new Error(`there is no container ${name}`)
        const args = container.args.map((word) =>
          word
            .replace('/etc/fairlead', folder.path)
            .replace('/var/lib/fairlead', join(folder.path, 'state'))
            .replace('$(NODE_NAME)', nodeName),
        )
        const [first = '', ...rest] = containerOf(container, folder.path)
        const flags = [`--objects=${folder.path}/objects.json`, ...flagsOf(place)]
        return new NodeProcess(cluster.node, first, [...rest, process.execPath, fairleadProgram, ...args, ...flags])
      }
    },
  )

/** The machine's own cgroup and BPF file system are not the node's. */
function flagsOf(place: EbpfPlace | undefined): readonly string[] {
  return place === undefined ? [] : [`--ebpf-cgroup=${place.cgroup.path}`, `--ebpf-pins=${place.pins}`]
}
