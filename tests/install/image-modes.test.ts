/**
 * The image in each mode, in containers as a kubelet would run them: the root read-only, /proc/sys read-only, no way to
 * more privileges, and exactly the capabilities that docs/security.md lists for the mode.
 */
import { existsSync, readFileSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nonRoot } from '../../tools/image/tools-root.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { manifest, service, slice } from '../e2e/testing/objects.ts'
import { ask } from '../packet/testing/ask.ts'
import { Cluster } from '../packet/testing/cluster.ts'
import { listenTcp } from '../packet/testing/echo-server.ts'
import { EbpfPlace, fairleadEbpf } from '../packet/testing/fairlead-ebpf.ts'
import { chooseVariant, type IptablesVariant } from '../packet/testing/iptables-variant.ts'
import { Namespace } from '../packet/testing/namespace.ts'
import { describeUnless } from '../packet/testing/proxies.ts'
import { proxyFlags } from '../packet/testing/proxy-flags.ts'
import type { ProxyMode } from '../packet/testing/proxy.ts'
import { Rig } from '../packet/testing/rig.ts'
import { at } from '../packet/testing/row.ts'
import { flowsTo } from '../packet/testing/service-faults.ts'
import { clusterObjects, givenService, objectsOf } from '../packet/testing/service-fixture.ts'
import { whoAnswers } from '../packet/testing/tally.ts'
import { type Capability, Container } from './testing/container.ts'
import { ContainerProxy, type Deployment } from './testing/container-proxy.ts'
import { containerProblem, unpackedImage, type UnpackedImage } from './testing/unpacked-image.ts'

interface Case {
  readonly mode: ProxyMode
  readonly variant: IptablesVariant
  readonly needs: readonly Capability[]
}

const cases: readonly Case[] = [
  { mode: 'nftables', variant: 'nft', needs: ['CAP_NET_ADMIN'] },
  { mode: 'ebpf', variant: 'nft', needs: ['CAP_NET_ADMIN', 'CAP_BPF', 'CAP_PERFMON'] },
  { mode: 'iptables', variant: 'nft', needs: ['CAP_NET_ADMIN'] },
  { mode: 'iptables', variant: 'legacy', needs: ['CAP_NET_ADMIN', 'CAP_NET_RAW'] },
  { mode: 'userspace', variant: 'nft', needs: ['CAP_NET_ADMIN'] },
]

const ipvs: Case = { mode: 'ipvs', variant: 'nft', needs: ['CAP_NET_ADMIN', 'CAP_NET_RAW'] }

const hasIpvs = existsSync('/proc/net/ip_vs')
const butItHas = hasIpvs ? ' [skipped: it has]' : ''
const onSmallMachine = ['--hostname-override=node1', '--oom-score-adj=0']

const bits = { CAP_NET_BIND_SERVICE: 10, CAP_NET_ADMIN: 12, CAP_NET_RAW: 13, CAP_PERFMON: 38, CAP_BPF: 39 }
/** As docs/security.md wants each container, but for the capabilities of its mode. */
const confined = { user: 0, effective: 0, bounds: 0, noNewPrivileges: 1, isRootReadOnly: true }
const web = givenService('web', 1, { type: 'NodePort', endpoints: ['here-1'] })
/** No packet leaves loopback for a pod. */
const onlyBySockets = { from: 'localhost', to: at('node port on localhost', web), family: 'ipv6' } as const
const patience = { timeout: 60_000, interval: 50 }

describeUnless(containerProblem(), 'the image', () => {
  let image: UnpackedImage
  beforeAll(async () => {
    image = await unpackedImage()
  })
  afterAll(() => image?.[Symbol.asyncDispose]())

  for (const { mode, variant, needs } of cases)
    describeUnless(
      mode === 'ebpf' ? fairleadEbpf.missing() : undefined,
      `in ${mode} mode (${variant}), with ${needs.join(' and ')}`,
      () => {
        test('finds nothing wrong before the start, leads packets to a pod, and has no other privilege', async () => {
          await using rig = await Rig.startWith((cluster) => deploy(cluster, { mode, variant, needs }), [web])
          const proxy = rig.proxy as ContainerProxy
          for (const { from, to, family } of [...flowsTo(web), ...(mode === 'ebpf' ? [onlyBySockets] : [])])
            expect(await whoAnswers(rig, from, to, family)).toBe('here-1:8080')
          const expected = needs.reduce((set, name) => set + 2 ** bits[name], 0)
          expect(statusOf(proxy.pid)).toEqual({ ...confined, effective: expected, bounds: expected })
          // It always lists what the kernel has for the ebpf mode.
          const found = mode === 'ebpf' ? 'checks, 1 note\n' : 'nothing found'
          expect(proxy.doctor).toMatchObject({ exitCode: 0, output: expect.stringContaining(found) })
        })

        test(`without ${needs.at(-1)} says so and ends`, async () => {
          using cluster = new Cluster()
          await using proxy = await deploy(cluster, { mode, variant, needs: needs.slice(0, -1) })
          await proxy.write([...clusterObjects, ...objectsOf(web)])
          const { exitCode, output } = await proxy.toItsEnd(['--objects=/objects'])
          expect(output).toMatch(new RegExp(`"command failed".*${needs.at(-1)}`))
          expect(exitCode).toBe(1)
        })
      },
    )

  test.skipIf(hasIpvs)(`has the tools of the ipvs mode, and says that this kernel has no IPVS${butItHas}`, async () => {
    using cluster = new Cluster()
    await using proxy = await deploy(cluster, ipvs)
    const refusal = proxy.apply([...clusterObjects, ...objectsOf(web)])
    await expect(refusal).rejects.toThrow(/Module ip_vs not found.*the kernel does not have it; load the module/s)
    const doctor = await proxy.toItsEnd(['doctor', '--before-start', '--objects=/objects'])
    expect(doctor).toMatchObject({ exitCode: 1, output: expect.stringContaining('ipvs-unusable') })
  })

  test('is enough for nobody without any privilege: the userspace mode on loopback', async () => {
    using machine = Namespace.make()
    machine.ip('address add 10.64.0.1/32 dev lo')
    using _pod = listenTcp(machine, 'pod', 8080)
    await using folder = await folderForAll(
      manifest(service('web', 8081, { clusterIP: '10.96.0.10' }), slice('web', 8080, { addresses: ['10.64.0.1'] })),
    )
    await using container = await Container.start({
      bundle: image.bundle,
      node: machine,
      user: nonRoot.id,
      capabilities: [],
      args: ['--proxy-mode=userspace', '--bind-address=127.0.0.1', '--objects=/objects', ...onSmallMachine],
      mounts: { '/objects': folder.path },
    })
    await expect
      .poll(() => ask(machine, { transport: 'tcp', ip: '127.0.0.1', port: 8081, patienceMs: 1000 }), patience)
      .toMatchObject({ kind: 'answer', answer: { answeredBy: 'pod' } })
    expect(statusOf(container.pid)).toEqual({ ...confined, user: nonRoot.id })
  })

  async function deploy(cluster: Cluster, { mode, variant, needs }: Case): Promise<ContainerProxy> {
    const deployment = { bundle: image.bundle, flags: proxyFlags(mode, {}), capabilities: needs }
    if (mode === 'ebpf') return deployEbpf(cluster, deployment)
    if (mode !== 'nftables') chooseVariant(cluster.node, variant)
    return ContainerProxy.make(cluster, deployment)
  }
})

/** Named, because no kubelet has a folder in it. */
async function deployEbpf(cluster: Cluster, deployment: Deployment): Promise<ContainerProxy> {
  const place = new EbpfPlace()
  cluster.useCgroup(place.cgroup)
  const flags = [...deployment.flags, '--ebpf-cgroup=/sys/fs/cgroup']
  return ContainerProxy.make(cluster, { ...deployment, flags, place })
}

async function folderForAll(text: string): Promise<TemporaryFolder> {
  const folder = await TemporaryFolder.make()
  await folder.write('objects.yaml', text, 0o644)
  await chmod(folder.path, 0o755)
  return folder
}

function statusOf(pid: number) {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8')
  const field = (name: string) => Number.parseInt(new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(text)?.[1] ?? '', 16)
  const user = Number(/^Uid:\s*(\d+)/m.exec(text)?.[1])
  const isRootReadOnly = /^(?:\S+ ){4}\/ ro\b/m.test(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'))
  return {
    user,
    isRootReadOnly,
    effective: field('CapEff'),
    bounds: field('CapBnd'),
    noNewPrivileges: field('NoNewPrivs'),
  }
}
